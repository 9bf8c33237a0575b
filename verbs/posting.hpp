// What the endpoints of one transport share. Threads: the worker's.
#pragma once

#include "core/completions.hpp"
#include "verbs/link.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace godwit::verbs {

struct Posting {
  core::Completions completions;
  std::uint64_t under_way = 0;                 // work requests of all links
  std::vector<std::shared_ptr<Link>> failing;  // to be given up: their lost_status says why

  void fail(const std::shared_ptr<Link>& link, ErrorCode status, std::string why) {
    if (std::exchange(link->peer_gave_up, false)) link->lost_detail = why + "; " + link->lost_detail;
    if (link->state == Link::State::draining || link->state == Link::State::lost) return;
    link->state = Link::State::draining;
    link->may_post = false;
    link->lost_status = status;
    link->lost_detail = std::move(why);
    failing.push_back(link);
  }
};

}  // namespace godwit::verbs
