// Boost.Asio is included here and by whoever has sockets of its own on io(), in .cpp files only.
#include "core/service_thread.hpp"

#include <godwit/error.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <pthread.h>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace godwit::core {

namespace asio = boost::asio;

namespace {

// Signals of the process go to the user's threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// Work that repeats. The timer belongs to the service thread; `mutex_` is held while the work runs, so that
// whoever cancels from another thread waits for it.
class Periodic : public std::enable_shared_from_this<Periodic> {
 public:
  Periodic(asio::io_context& io, std::chrono::milliseconds period, std::function<void()> work)
      : timer_(io), period_(period), work_(std::move(work)) {}

  void start() {
    if (cancelled_) return;
    timer_.expires_after(period_);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error && self->run()) self->start();
    });
  }
  void cancel() { cancelled_ = true; }
  void wait_for_running_call() { const std::lock_guard running(mutex_); }
  /// On the service thread: lets the pending round go, and with it what the work holds.
  void forget() { timer_.cancel(); }

 private:
  bool run() {
    const std::lock_guard running(mutex_);
    if (!cancelled_) work_();
    return !cancelled_;
  }

  asio::steady_timer timer_;
  const std::chrono::milliseconds period_;
  const std::function<void()> work_;
  std::mutex mutex_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace

struct ServiceThread::Impl {
  Impl() : guard(asio::make_work_guard(io)) {
    const SignalsBlocked blocked;
    thread = std::thread([this] { io.run(); });
    thread_id = thread.get_id();
    pthread_setname_np(thread.native_handle(), "godwit-service");
  }

  bool on_service_thread() const noexcept { return std::this_thread::get_id() == thread_id; }
  void stop() {
    std::call_once(stop_once, [this] {
      io.stop();
      thread.join();
      {
        const std::lock_guard lock(mutex);
        stopped = true;
      }
      changed.notify_all();
    });
  }

  std::mutex mutex;  // guards `stopped` and the outcomes of call()
  std::condition_variable changed;
  bool stopped = false;
  std::once_flag stop_once;
  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  std::thread thread;
  std::thread::id thread_id;
};

struct ServiceThread::Token {
  Token(std::shared_ptr<Impl> its_impl, std::shared_ptr<Periodic> its_periodic)
      : impl(std::move(its_impl)), periodic(std::move(its_periodic)) {}
  ~Token() {
    periodic->cancel();
    if (impl->on_service_thread()) {
      periodic->forget();
    } else {
      periodic->wait_for_running_call();
      asio::post(impl->io, [periodic = periodic] { periodic->forget(); });
    }
  }
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;

  const std::shared_ptr<Impl> impl;  // first, so that the timer goes before its io_context
  const std::shared_ptr<Periodic> periodic;
};

ServiceThread::ServiceThread() : impl_(std::make_shared<Impl>()) {}
ServiceThread::~ServiceThread() { stop(); }

asio::io_context& ServiceThread::io() noexcept { return impl_->io; }

void ServiceThread::post(std::function<void()> work) { asio::post(impl_->io, std::move(work)); }

void ServiceThread::call(const std::function<void()>& work) {
  if (impl_->on_service_thread()) return work();
  struct Outcome {
    bool done = false;
    std::exception_ptr error;
  };
  auto outcome = std::make_shared<Outcome>();
  // `work` outlives the handler: it has run, or the thread has been joined, before this function returns.
  asio::post(impl_->io, [outcome, &work, impl = impl_.get()] {
    std::exception_ptr error;
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    {
      const std::lock_guard lock(impl->mutex);
      outcome->error = std::move(error);
      outcome->done = true;
    }
    impl->changed.notify_all();
  });
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [&] { return outcome->done || impl_->stopped; });
  if (!outcome->done) throw Error(ErrorCode::cancelled, "the service thread was stopped before it came to this work");
  if (outcome->error) std::rethrow_exception(outcome->error);
}

std::shared_ptr<void> ServiceThread::every(std::chrono::milliseconds period, std::function<void()> work) {
  auto periodic = std::make_shared<Periodic>(impl_->io, period, std::move(work));
  asio::post(impl_->io, [periodic] { periodic->start(); });
  return std::make_shared<Token>(impl_, std::move(periodic));
}

void ServiceThread::stop() noexcept { impl_->stop(); }

}  // namespace godwit::core
