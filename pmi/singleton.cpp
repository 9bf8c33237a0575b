#include "pmi/singleton.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <chrono>

#include <unistd.h>

namespace godwit::pmi {

SingletonBootstrap::SingletonBootstrap() {
  // A process id may come again, on this host or in another container; the time keeps the names apart.
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  job_ = {.rank = 0,
          .size = 1,
          .local_rank = 0,
          .local_size = 1,
          .node_count = 1,
          .id = fmt::format("single.{}.{:x}", getpid(), now),
          .via = "nothing (single process)"};
}

std::vector<std::byte> SingletonBootstrap::card(Rank rank) {
  if (rank != 0) throw Error(ErrorCode::bootstrap, fmt::format("rank {} of a job of one process was asked for", rank));
  return card_;
}

}  // namespace godwit::pmi
