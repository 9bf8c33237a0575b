#include "shm/copying.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace godwit::shm {

JointCopy::Finished Copying::reporter(Link& link) {
  return [this, &link](std::uint64_t cookie, const Status& outcome) {
    if (outcome.ok()) return completions_.done_later(link.rank(), cookie);
    completions_.failed_later(link.rank(), cookie, outcome.code(),
                              fmt::format("get to {} over shm: {}", link.peer.text(), outcome.message()));
  };
}

bool Copying::start(const std::shared_ptr<Link>& link, const core::WorkRequest& request) {
  if (!link->joint.has_room()) return false;
  if (!link->joint.busy()) links_.push_back(link);
  link->joint.start(request);
  return true;
}

void Copying::step() {
  for (const auto& link : links_) link->joint.step(link->remote, reporter(*link));
  std::erase_if(links_, [](const auto& link) { return !link->joint.busy(); });
}

void Copying::fail(Link& link, const Status& why) {
  link.joint.fail(why, reporter(link));
  std::erase_if(links_, [&](const auto& other) { return other.get() == &link; });
}

void Copying::withdraw() noexcept {
  for (const auto& link : links_) link->joint.withdraw();
  links_.clear();
}

}  // namespace godwit::shm
