#include "cases.hpp"

#include "fake/fake_transport.hpp"
#include "shm/factory.hpp"
#include "shm/transport.hpp"

#include <ostream>

namespace godwit::conformance {

const std::vector<TransportCase>& transport_cases() {
  const auto shm_options = [](core::OptionSet& options) { options.add<shm::ShmOptions>(); };
  const auto without_membarrier = [](core::Services& services, Rank rank, std::string_view job) {
    return std::make_unique<shm::ShmTransport>(services, rank, job, false);
  };
  // A new transport: one line here.
  static const std::vector<TransportCase> cases = {
      {"shm", shm::make_shm_transport, shm_options, {}},
      {"shm_without_cma", shm::make_shm_transport, shm_options, {{"SHM_CMA", "off"}}},
      {"shm_small_ring", shm::make_shm_transport, shm_options, {{"SHM_RING", "4K"}, {"SHM_MESSAGE", "500"}}},
      {"shm_without_membarrier", without_membarrier, shm_options, {}},
      {"fake", fake::make_fake_transport, [](core::OptionSet&) {}, {}, false, false},
  };
  return cases;
}

std::ostream& operator<<(std::ostream& out, const TransportCase& transport) { return out << transport.name; }

}  // namespace godwit::conformance
