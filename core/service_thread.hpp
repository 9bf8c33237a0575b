// The service thread: liveness, side channels, watchdog. Never on the data path.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace godwit::core {

/// One thread that runs a Boost.Asio io_context. Sleeps when there is nothing to do.
class ServiceThread {
 public:
  ServiceThread();
  /// Stops and joins; handlers that have not run are dropped.
  ~ServiceThread();
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;

  /// For transports' and bootstraps' own sockets; include <boost/asio.hpp> parts only in .cpp files.
  boost::asio::io_context& io() noexcept;
  /// Runs `work` on the service thread, later. Any thread.
  void post(std::function<void()> work);
  /// Runs `work` on the service thread and waits for it. Not from the service thread itself.
  void call(const std::function<void()>& work);
  /// Runs `work` every `period` until the returned token is destroyed (which waits for a running call, unless
  /// destroyed from within it).
  std::shared_ptr<void> every(std::chrono::milliseconds period, std::function<void()> work);
  /// Stops and joins now; further post() and every() are ignored.
  void stop() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace godwit::core
