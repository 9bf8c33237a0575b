// co_await a Request. Include it only where it is wanted: it costs nothing to those who do not.
//
//   godwit::Task ping(godwit::Communicator comm) {
//     co_await comm.isend(x, 1);
//     MessageInfo info = co_await comm.irecv(x, 1);
//   }
//   godwit::run(ping(a), ping(b));   // resumes whichever is ready, until all are done
#pragma once

#include <godwit/request.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <utility>
#include <vector>

namespace godwit {

namespace detail {
/// What a suspended task waits for; run() tests it.
struct Suspended {
  Request* request = nullptr;
};
}  // namespace detail

/// A coroutine that starts suspended and is resumed by run() in the calling thread.
class [[nodiscard]] Task {
 public:
  struct promise_type {
    detail::Suspended waiting;
    std::exception_ptr error;

    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { error = std::current_exception(); }

    struct RequestAwaiter {
      Request request;
      promise_type* promise;
      Status outcome;
      bool await_ready() {
        outcome = request.test();
        return !outcome.in_progress();
      }
      void await_suspend(std::coroutine_handle<>) noexcept { promise->waiting.request = &request; }
      MessageInfo await_resume() {
        promise->waiting.request = nullptr;
        if (outcome.in_progress()) return request.wait();
        if (!outcome.ok()) throw Error(outcome);
        return request.info();
      }
    };
    RequestAwaiter await_transform(Request request) { return {std::move(request), this, {}}; }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool done() const noexcept { return handle_.done(); }
  /// True if the task can go on: it has not begun, or its request is complete (progresses once).
  bool ready() {
    Request* request = handle_.promise().waiting.request;
    return request == nullptr || request->poll();
  }
  /// Goes on until the next co_await. Throws what the coroutine threw.
  void resume() {
    handle_.resume();
    if (handle_.done() && handle_.promise().error) std::rethrow_exception(handle_.promise().error);
  }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

/// Runs all tasks to their ends, interleaved at their co_awaits. Throws the first task's error.
inline void run(std::vector<Task> tasks) {
  for (bool pending = true; pending;) {
    pending = false;
    for (Task& task : tasks) {
      if (task.done()) continue;
      pending = true;
      if (task.ready()) task.resume();
    }
  }
}

template <std::same_as<Task>... T>
requires(sizeof...(T) > 0) void run(T... tasks) {
  std::vector<Task> all;
  (all.push_back(std::move(tasks)), ...);
  run(std::move(all));
}

}  // namespace godwit
