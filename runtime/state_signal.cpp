// kill -USR1: what is every rank waiting for?
#include <fmt/format.h>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <csignal>

#include "core/core_options.hpp"
#include "runtime/context_state.hpp"

namespace godwit::runtime {

namespace {

// A worker whose thread waits in Godwit answers within a wait's longest sleep.
constexpr std::chrono::seconds patience{1};

class StateSignal : public std::enable_shared_from_this<StateSignal> {
 public:
  StateSignal(detail::ContextState& context, int number)
      : context_(context), signals_(context.service.io(), number), timer_(context.service.io()) {}

  void listen() {
    signals_.async_wait([self = shared_from_this()](const boost::system::error_code& error, int) {
      if (error || self->ended_) return;
      self->context_.worker->request_report();
      self->check_later();
      self->listen();
    });
  }

  void end() {
    ended_ = true;
    boost::system::error_code ignored;  // nothing is lost when there was nothing to cancel
    signals_.clear(ignored);
    signals_.cancel(ignored);
    timer_.cancel(ignored);
  }

 private:
  void check_later() {
    timer_.expires_after(patience);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (error || self->ended_ || !self->context_.worker->report_pending()) return;
      const double since =
          1e-3 * static_cast<double>(self->context_.clock.now_ms() - self->context_.worker->last_progress_ms());
      self->context_.log->write(
          core::LogLevel::error,
          fmt::format("is not in a Godwit call; its last progress was {:.1f} s ago. It reports when it "
                      "comes by",
                      since));
    });
  }

  detail::ContextState& context_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer timer_;
  bool ended_ = false;
};

}  // namespace

std::shared_ptr<void> watch_state_signal(detail::ContextState& context) {
  const std::string& name = context.options->get<core::CoreOptions>().state_signal->value;
  if (name == "none") return nullptr;
  const int number = name == "usr2" ? SIGUSR2 : SIGUSR1;
  struct sigaction current {};
  ::sigaction(number, nullptr, &current);
  static std::atomic<int> ours{0};  // signals whose handler asio has installed for an earlier context
  const int bit = 1 << number;
  if (current.sa_handler != SIG_DFL && (ours.load() & bit) == 0) {
    context.log->info("the program handles signal {} itself: it does not print the state of operations", number);
    return nullptr;
  }
  ours |= bit;
  auto watch = std::make_shared<StateSignal>(context, number);
  context.service.call([watch] { watch->listen(); });
  return std::shared_ptr<void>(
      nullptr, [watch, service = &context.service](void*) { service->call([watch] { watch->end(); }); });
}

}  // namespace godwit::runtime
