// Who has not come, after a fence has failed. Includes pmix.h: only for .cpp files.
#pragma once

#include "pmi/pmix_calls.hpp"

#include <godwit/types.hpp>

#include <vector>

namespace godwit::pmi {

/// The one key that Godwit puts.
inline constexpr const char* card_key = "godwit.card";

/// Ranks of `me`'s node that have not put the key, as far as the server can tell by the deadline. Of other nodes'
/// ranks a server knows nothing before the fence is done.
std::vector<Rank> local_ranks_without(const pmix_proc_t& me, const char* key, Reply::Clock::time_point deadline);

}  // namespace godwit::pmi
