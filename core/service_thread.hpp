// The service thread: liveness, side channels, watchdog. Never on the data path.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace godwit::core {

/// One thread that runs a Boost.Asio io_context. Sleeps when there is nothing to do; takes no signals. An
/// exception that leaves `work` is a defect and ends the process, except in call().
class ServiceThread {
 public:
  ServiceThread();
  /// stop(), if that has not happened. Not on the service thread itself.
  ~ServiceThread();
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;

  /// For transports' and bootstraps' own sockets; include <boost/asio.hpp> parts only in .cpp files.
  boost::asio::io_context& io() noexcept;
  /// Runs `work` on the service thread, later, in the order of the calls. Any thread.
  void post(std::function<void()> work);
  /// Runs `work` on the service thread and waits for it; at once when called there. Rethrows what `work` throws.
  /// Throws Error(cancelled) if the thread was stopped before `work` began.
  void call(const std::function<void()>& work);
  /// Runs `work` every `period`, counted from the end of the round before and first from now, until the returned
  /// token is destroyed, which waits for a running call unless done on the service thread. Any thread. Drop tokens
  /// before what their work uses.
  std::shared_ptr<void> every(std::chrono::milliseconds period, std::function<void()> work);
  /// Stops and joins now; work that has not begun is dropped, further post() and every() are ignored. Any thread
  /// but the service thread.
  void stop() noexcept;

 private:
  struct Impl;
  struct Token;
  std::shared_ptr<Impl> impl_;
};

}  // namespace godwit::core
