// The links on which gets are being copied (joint_copy.hpp): each poll goes on with them. Threads: the worker's.
#pragma once

#include "core/completions.hpp"
#include "shm/link.hpp"

#include <memory>
#include <vector>

namespace godwit::shm {

class Copying {
 public:
  explicit Copying(core::Completions& completions) : completions_(completions) {}

  bool empty() const noexcept { return links_.empty(); }
  /// False: too many are under way on this link.
  bool start(const std::shared_ptr<Link>& link, const core::WorkRequest& request);
  void step();
  /// Ends those of a link that is lost; `why` becomes their failure.
  void fail(Link& link, const Status& why);
  /// Ends all without completions.
  void withdraw() noexcept;

 private:
  JointCopy::Finished reporter(Link& link);

  core::Completions& completions_;
  std::vector<std::shared_ptr<Link>> links_;
};

}  // namespace godwit::shm
