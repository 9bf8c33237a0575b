#include "verbs/factory.hpp"

#include "verbs/transport.hpp"

namespace godwit::verbs {

std::unique_ptr<core::Transport> make_verbs_transport(core::Services& services, Rank rank, std::string_view job_id) {
  return std::make_unique<VerbsTransport>(services, rank, job_id, system_api());
}

}  // namespace godwit::verbs
