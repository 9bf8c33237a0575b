// What runtime needs of this layer, without its headers.
#pragma once

#include "core/services.hpp"
#include "core/transport.hpp"
#include "shm/options.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace godwit::shm {

/// `job_id` is the same on all ranks of the job. The options must contain core::CoreOptions and ShmOptions. Throws
/// Error(no_memory) and Error(transport) in words.
std::unique_ptr<core::Transport> make_shm_transport(core::Services& services, Rank rank, std::string_view job_id);
/// Empty when shared memory can be had on this host, else why not.
std::string shm_unavailable_reason();

}  // namespace godwit::shm
