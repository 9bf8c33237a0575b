// Completion errors in words: both ends, what it means, likely causes in order, and how to check them. Pure.
#pragma once

#include "verbs/link.hpp"

#include <string>

namespace godwit::verbs {

/// A queue pair in the place of this one may work.
bool may_pass(ibv_wc_status status) noexcept;
std::string explain(const Link& link, const ibv_wc& entry);

}  // namespace godwit::verbs
