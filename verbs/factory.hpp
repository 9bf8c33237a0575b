// How the runtime gets the verbs transport.
#pragma once

#include "core/services.hpp"
#include "core/transport.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace godwit::verbs {

/// Throws Error.
std::unique_ptr<core::Transport> make_verbs_transport(core::Services& services, Rank rank, std::string_view job_id);

}  // namespace godwit::verbs
