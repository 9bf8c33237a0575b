// Requests: the public handle of a core operation.
#include <godwit/request.hpp>

#include "runtime/communicator_state.hpp"

namespace godwit {

namespace runtime {

Status take_outcome(core::Worker& worker, core::Operation& operation, MessageInfo* info) {
  const auto held = worker.lock();
  if (info != nullptr) *info = operation.info;
  if (operation.status == ErrorCode::ok) [[likely]] {
    worker.release(operation);
    return {};
  }
  Status status(operation.status, std::move(operation.detail));
  worker.release(operation);
  return status;
}

MessageInfo wait_for(core::Worker& worker, core::Operation& operation, core::Worker::Lock& held) {
  try {
    worker.wait(operation, held);
  } catch (...) {
    const Request dropped(&worker, &operation);
    throw;
  }
  MessageInfo info = operation.info;
  if (operation.status == ErrorCode::ok) [[likely]] {
    worker.release(operation);
    return info;
  }
  throw Error(take_outcome(worker, operation, nullptr));
}

}  // namespace runtime

// Leaves the worker without a trace of the request.
void Request::drop() noexcept {
  core::Worker& worker = *worker_;
  core::Operation& operation = *operation_;
  try {
    auto held = worker.lock();
    worker.cancel(operation);  // false when it has matched: then it is waited for
    worker.wait(operation, held);
    worker.release(operation);
  } catch (const Error& error) {
    // In a handler nothing can be waited for.
    worker.services().log.error("a request is dropped while it is pending: {}", error.what());
    worker.abandon(operation);
  }
}

Status Request::finish() {
  core::Operation& operation = *std::exchange(operation_, nullptr);
  return runtime::take_outcome(*worker_, operation, &info_);
}

bool Request::wait_well() {
  auto held = worker_->lock();
  worker_->wait(*operation_, held);
  if (operation_->status != ErrorCode::ok) [[unlikely]]
    return false;
  info_ = operation_->info;
  worker_->release(*std::exchange(operation_, nullptr));
  return true;
}

void Request::wait_into(Status& first) {
  if (wait_well()) [[likely]]
    return;
  Status status = finish();
  if (first.ok()) first = std::move(status);
}

Status Request::try_wait() {
  Status status;
  if (operation_ != nullptr) wait_into(status);
  return status;
}

MessageInfo Request::wait_pending() {
  if (!wait_well()) [[unlikely]]
    throw Error(finish());
  return info_;
}

bool Request::poll() {
  if (operation_ == nullptr) return true;
  const auto held = worker_->lock();
  if (!operation_->done()) {
    worker_->progress();
    worker_->look_after_sources();
  }
  return operation_->done();
}

Status Request::test() {
  if (operation_ == nullptr) return {};
  if (!poll()) return Status(ErrorCode::in_progress);
  return finish();
}

bool Request::cancel() {
  if (operation_ == nullptr) return false;
  {
    const auto held = worker_->lock();
    if (!worker_->cancel(*operation_)) return false;
  }
  (void)finish();  // `cancelled`, which the caller asked for
  return true;
}

void wait_all(std::span<Request> requests) {
  Status first;
  for (Request& request : requests) {
    if (!request.done()) request.wait_into(first);
  }
  if (!first.ok()) throw Error(first);
}

namespace {

// Waits until one of the pending requests is done; false if none is pending.
bool wait_for_one(std::span<Request> requests) {
  core::Worker* worker = nullptr;
  for (const Request& request : requests) {
    if (request.done()) continue;
    if (worker != nullptr && request.worker() != worker)
      throw Error(ErrorCode::invalid_argument, "wait_any and wait_some take requests of one context only");
    worker = request.worker();
  }
  if (worker == nullptr) return false;
  const auto any_done = [&] {
    for (const Request& request : requests)
      if (!request.done() && request.operation()->done()) return true;
    return false;
  };
  worker->wait_until(any_done, [&] {
    std::string words = "any of";
    for (const Request& request : requests)
      if (!request.done()) words += "\n  " + worker->describe(*request.operation());
    return words;
  });
  return true;
}

}  // namespace

std::size_t wait_any(std::span<Request> requests) {
  if (!wait_for_one(requests)) return requests.size();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].done() || !requests[i].operation()->done()) continue;
    requests[i].wait();
    return i;
  }
  return requests.size();
}

std::vector<std::size_t> wait_some(std::span<Request> requests) {
  std::vector<std::size_t> done;
  if (!wait_for_one(requests)) return done;
  Status first;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].done() || !requests[i].operation()->done()) continue;
    Status status = requests[i].try_wait();
    if (!status.ok() && first.ok()) first = std::move(status);
    done.push_back(i);
  }
  if (!first.ok()) throw Error(first);
  return done;
}

}  // namespace godwit
