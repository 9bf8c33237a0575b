#include "shm/factory.hpp"

#include "core/shared_memory.hpp"
#include "shm/transport.hpp"

namespace godwit::shm {

std::unique_ptr<core::Transport> make_shm_transport(core::Services& services, Rank rank, std::string_view job_id) {
  return std::make_unique<ShmTransport>(services, rank, job_id);
}

std::string shm_unavailable_reason() { return core::shared_memory_unavailable_reason(); }

}  // namespace godwit::shm
