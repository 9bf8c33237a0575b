// What the endpoints of one transport share. Threads: the worker's.
#pragma once

#include "core/completions.hpp"
#include "verbs/link.hpp"
#include "verbs/registrar.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace godwit::verbs {

/// The worker's memory, registered with the adapters of all rails.
struct Memory {
  Registrar registrar;
  BufferPool send_buffers;
};

struct Posting {
  core::Completions completions;
  std::unique_ptr<Memory> memory;
  std::uint32_t send_budget = 0;               // work requests that all links together may have under way
  std::uint64_t under_way = 0;                 // work requests of all links
  std::vector<std::shared_ptr<Link>> failing;  // to be given up: their lost_status says why
  std::vector<std::pair<std::shared_ptr<Link>, std::string>> refused;  // by an adapter that is gone: to move, and why

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
