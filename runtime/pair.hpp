// A context for one of two processes that a user starts by hand, without a launcher.
#pragma once

#include <godwit/context.hpp>

#include <functional>

#include "pmi/pair.hpp"

namespace godwit::runtime {

/// Rank 0 is the server, rank 1 the client; see pmi::join_pair(). `on_listening` runs at the server when a client can
/// come, before it is waited for. Throws as Context's constructor.
Context open_pair(const pmi::PairEnd& end, const ContextOptions& wishes, const std::function<void()>& on_listening);

}  // namespace godwit::runtime
