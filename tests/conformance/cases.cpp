#include "cases.hpp"

#include "fake/fake_transport.hpp"
#include "shm/factory.hpp"
#include "shm/transport.hpp"
#include "verbs/discovery.hpp"
#include "verbs/factory.hpp"
#include "verbs/options.hpp"
#include "verbs_over_fake.hpp"

#include <cstdlib>
#include <ostream>

namespace godwit::conformance {
namespace {

bool has_adapter() {
  core::Log log(core::LogLevel::off);
  for (const verbs::DeviceFacts& device : verbs::discover(verbs::system_api(), log))
    for (const verbs::PortFacts& port : device.ports)
      if (port.active) return true;
  return false;
}

// Suites set no options from the environment; this one says over what to run.
core::OptionSet::Variables connection_way() {
  const char* way = std::getenv("GODWIT_IB_CONNECT");
  return way == nullptr ? core::OptionSet::Variables{} : core::OptionSet::Variables{{"IB_CONNECT", way}};
}

}  // namespace

const std::vector<TransportCase>& transport_cases() {
  const auto shm_options = [](core::OptionSet& options) { options.add<shm::ShmOptions>(); };
  const auto verbs_options = [](core::OptionSet& options) { options.add<verbs::VerbsOptions>(); };
  const auto without_membarrier = [](core::Services& services, Rank rank, std::string_view job) {
    return std::make_unique<shm::ShmTransport>(services, rank, job, false);
  };
  // Everything is used up all the time.
  const core::OptionSet::Variables scarce = {
      {"IB_CREDITS", "4"}, {"IB_RECEIVES", "64"}, {"IB_SEND_QUEUE", "16"}, {"IB_INLINE", "0"}, {"IB_MESSAGE", "512"}};
  // A new transport: one line here.
  static const std::vector<TransportCase> cases = [&] {
    std::vector<TransportCase> all = {
        {"shm", shm::make_shm_transport, shm_options, {}},
        {"shm_without_cma", shm::make_shm_transport, shm_options, {{"SHM_CMA", "off"}}},
        {"shm_small_ring", shm::make_shm_transport, shm_options, {{"SHM_RING", "4K"}, {"SHM_MESSAGE", "500"}}},
        {"shm_without_membarrier", without_membarrier, shm_options, {}},
        {"fake", fake::make_fake_transport, [](core::OptionSet&) {}, {}, false, false},
        {"verbs_fake_infiniband", make_over_infiniband, verbs_options, {}, false, false, true},
        {"verbs_fake_roce", make_over_roce, verbs_options, {}, false, false, true},
        {"verbs_fake_two_rails", make_over_two_rails, verbs_options, {}, false, false, true},
        {"verbs_fake_scarce", make_over_infiniband, verbs_options, scarce, false, false},
    };
    if (has_adapter())  // real ones, or of the lab
      all.push_back({"verbs", verbs::make_verbs_transport, verbs_options, connection_way(), true, false, true});
    return all;
  }();
  return cases;
}

std::ostream& operator<<(std::ostream& out, const TransportCase& transport) { return out << transport.name; }

}  // namespace godwit::conformance
