#include "verbs/fork_safety.hpp"

#include <fmt/format.h>

#include <cstring>

namespace godwit::verbs {

Status prepare_for_fork(Api& api) {
  if (api.is_fork_initialized() != IBV_FORK_DISABLED) return {};
  const int error = api.fork_init();
  if (error == 0) return {};
  return Status(
      ErrorCode::not_supported,
      fmt::format("fork() is not safe in this process: this kernel does not copy registered pages for children, "
                  "and ibv_fork_init() fails ({}), probably because memory was registered before. After a fork "
                  "the adapter may see old data. Start with RDMAV_FORK_SAFE=1, do not fork, or use Linux 5.12 "
                  "or later",
                  std::strerror(error)));
}

}  // namespace godwit::verbs
