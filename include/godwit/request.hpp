// Request: one operation in flight. Waiting for one, any, some or all of several.
#pragma once

#include <godwit/error.hpp>
#include <godwit/types.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace godwit {

namespace core {
struct Operation;
class Worker;
}  // namespace core

/// What a receive (or probe) found. `size` is the length of the message in bytes, also when it was truncated.
struct MessageInfo {
  Rank source = any_source;
  Tag tag = any_tag;
  std::size_t size = 0;
};

class Request;
/// Waits for all; then throws the first error, if any.
void wait_all(std::span<Request> requests);

/// Move-only handle of an operation. The destructor cancels a pending receive, then waits, so that no
/// transport ever writes into a buffer that is gone. A default-constructed Request is done. A Request must not outlive
/// its Context. In a handler of an active message, where nothing can be waited for, the destructor lets the operation
/// go on: its buffer must outlive it.
class [[nodiscard]] Request {
 public:
  Request() noexcept = default;
  Request(core::Worker* worker, core::Operation* operation) noexcept : worker_(worker), operation_(operation) {}
  Request(Request&& other) noexcept { take(other); }
  Request& operator=(Request&& other) noexcept {
    if (this == &other) return *this;
    if (operation_ != nullptr) drop();
    take(other);
    return *this;
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() {
    if (operation_ != nullptr) drop();
  }

  /// Waits for completion. Throws Error. After it the request is empty; info() stays.
  MessageInfo wait() { return operation_ == nullptr ? info_ : wait_pending(); }
  /// As wait(), but returns the outcome.
  Status try_wait();
  /// One pass of progress; Status::in_progress() while the operation is pending, else its outcome.
  Status test();
  /// One pass of progress; true when wait() would not block. Unlike test() it leaves the outcome to be taken.
  bool poll();
  /// Cancels a pending receive: true if it was cancelled, false if it has matched or completed.
  bool cancel();
  /// True when no operation is pending behind this handle: never started, waited for, or tested done.
  bool done() const noexcept { return operation_ == nullptr; }
  /// Source, tag and size of a completed receive; the value of a completed fetch_add or compare_swap
  /// went into the buffer that the call named.
  const MessageInfo& info() const noexcept { return info_; }

  core::Operation* operation() const noexcept { return operation_; }
  core::Worker* worker() const noexcept { return worker_; }

 private:
  friend void wait_all(std::span<Request> requests);

  MessageInfo wait_pending();
  Status finish();
  /// Waits, and lets an operation that went well go; false: finish() tells.
  bool wait_well();
  /// As try_wait(); a failure goes to `first`, unless there is one.
  void wait_into(Status& first);
  void drop() noexcept;
  void take(Request& other) noexcept {
    worker_ = std::exchange(other.worker_, nullptr);
    operation_ = std::exchange(other.operation_, nullptr);
    // Before the operation is done there is no info: not worth waiting for its words on the way through memory.
    info_ = worker_ != nullptr && operation_ == nullptr ? other.info_ : MessageInfo{};
  }

  core::Worker* worker_ = nullptr;
  core::Operation* operation_ = nullptr;
  MessageInfo info_;
};

/// Waits until one is done and returns its index; requests that were done before the call are skipped.
/// requests.size() if there is none to wait for. Throws that request's error.
std::size_t wait_any(std::span<Request> requests);
/// Waits until at least one is done; returns the indices of all that are. Throws the first error.
std::vector<std::size_t> wait_some(std::span<Request> requests);

template <class... R>
requires(sizeof...(R) > 0 && (std::same_as<R, Request> && ...)) void wait_all(R&... requests) {
  Status first;
  auto one = [&](Request& request) {
    Status status = request.try_wait();
    if (!status.ok() && first.ok()) first = std::move(status);
  };
  (one(requests), ...);
  if (!first.ok()) throw Error(first);
}

}  // namespace godwit
