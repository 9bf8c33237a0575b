#include "pmi/tcp_store.hpp"

#include "core/card.hpp"
#include "core/service_thread.hpp"
#include "pmi/failures.hpp"
#include "pmi/tcp_connect.hpp"
#include "pmi/tcp_server.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>

#include <condition_variable>
#include <mutex>

namespace godwit::pmi {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds leave_limit{1000};  // for a good-bye to be written
constexpr std::chrono::seconds grace{5};                // for the store's own verdict to come

}  // namespace

struct TcpStoreBootstrap::Impl {
  Impl(StoreConfig who_and_where, const BootstrapSettings& wishes, core::Log& to)
      : config(std::move(who_and_where)), settings(wishes), log(to) {}
  ~Impl() { service.stop(); }

  void join();
  void listen_to(std::shared_ptr<Channel> to_store);
  asio::awaitable<void> read(std::shared_ptr<Channel> from_store);
  bool handle(const Frame& frame);
  void store_ended(const std::string& how);
  void break_exchange(const std::string& why);
  asio::awaitable<void> send_last(std::string frame);
  asio::awaitable<void> leave();
  /// Runs a coroutine on the service thread; they all end within a few leave_limits.
  template <class Make>
  void run_to_end(Make make) noexcept {
    try {
      asio::co_spawn(service.io(), make(), asio::use_future).get();
    } catch (const std::exception& error) {
      log.warn("TCP store: rank {} could not say good-bye: {}", config.rank, error.what());
    }
  }

  const StoreConfig config;
  const BootstrapSettings settings;
  core::Log& log;
  core::JobInfo job;
  FailureReports failures;
  bool finalized = false;

  core::ServiceThread service;
  std::optional<StoreServer> server;  // rank 0; service thread only
  std::shared_ptr<Channel> channel;   // to the store; service thread only; nothing once that has ended
  bool leaving = false;               // service thread only

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::optional<std::vector<std::string>> cards;
  std::optional<std::string> broken;  // why there will be no cards
};

void TcpStoreBootstrap::Impl::join() {
  job = {.rank = config.rank,
         .size = config.size,
         .local_rank = config.local_rank,
         .local_size = config.local_size,
         .node_count = config.node_count,
         .id = {},
         .via = config.words.via};
  std::optional<asio::ip::tcp::endpoint> own;
  if (config.rank == 0) {
    service.call([&] {
      server.emplace(service.io(), config, settings, log);
      server->start();
    });
    own = server->endpoint();
  }
  JoinedStore joined =
      asio::co_spawn(service.io(), join_store(service.io(), config, settings, own), asio::use_future).get();
  job.id = fmt::format("tcp.{:x}.{:x}", config.job, joined.job_nonce);
  service.call([&] { listen_to(std::move(joined.channel)); });
}

void TcpStoreBootstrap::Impl::listen_to(std::shared_ptr<Channel> to_store) {
  channel = to_store;
  asio::co_spawn(service.io(), read(std::move(to_store)), asio::detached);
}

asio::awaitable<void> TcpStoreBootstrap::Impl::read(std::shared_ptr<Channel> from_store) {
  const std::size_t limit = static_cast<std::size_t>(config.size) * max_request_size;
  std::string how;
  try {
    bool stays = true;
    while (stays) {
      const Frame frame = co_await from_store->receive(limit);
      stays = handle(frame);
    }
    how = "it has left";
  } catch (const std::exception& error) {
    how = error.what();
    if (!leaving) store_ended(how);
  }
  channel.reset();
  break_exchange(fmt::format("rank 0's store has ended: {}", how));
}

bool TcpStoreBootstrap::Impl::handle(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::cards: {
      const std::lock_guard lock(mutex);
      cards = decode<Cards>(frame).cards;
      changed.notify_all();
      return true;
    }
    case FrameKind::failed: break_exchange(decode<Failed>(frame).reason); return true;
    case FrameKind::death: {
      const auto death = decode<Death>(frame);
      failures.report(death.rank, death.reason);
      return true;
    }
    case FrameKind::closing: return false;
    default: throw Error(ErrorCode::bootstrap, "it sent what a store does not send");
  }
}

void TcpStoreBootstrap::Impl::store_ended(const std::string& how) {
  const std::lock_guard lock(mutex);
  if (cards) failures.report(0, fmt::format("its TCP store ended without a good-bye: {}", how));
}

void TcpStoreBootstrap::Impl::break_exchange(const std::string& why) {
  const std::lock_guard lock(mutex);
  if (cards || broken) return;
  broken = why;
  changed.notify_all();
}

asio::awaitable<void> TcpStoreBootstrap::Impl::send_last(std::string frame) {
  leaving = true;
  const auto to_store = channel;
  if (!to_store) co_return;
  to_store->send(std::move(frame));
  to_store->close_after(leave_limit);
  co_await to_store->drain();
}

asio::awaitable<void> TcpStoreBootstrap::Impl::leave() {
  co_await send_last(encode(Goodbye{}));
  if (server) co_await server->close(leave_limit);
}

TcpStoreBootstrap::TcpStoreBootstrap(const Variables& variables, const BootstrapSettings& settings, core::Log& log)
    : TcpStoreBootstrap(store_config(variables, settings), settings, log) {}

TcpStoreBootstrap::TcpStoreBootstrap(StoreConfig config, const BootstrapSettings& settings, core::Log& log)
    : impl_(std::make_unique<Impl>(std::move(config), settings, log)) {
  impl_->join();
}

TcpStoreBootstrap::~TcpStoreBootstrap() { finalize(); }

const core::JobInfo& TcpStoreBootstrap::job() const noexcept { return impl_->job; }

void TcpStoreBootstrap::exchange(std::span<const std::byte> card) {
  if (card.size() > core::max_card_size) {
    throw Error(ErrorCode::internal, fmt::format("rank {} has a card of {} bytes; at most {} are allowed",
                                                 impl_->job.rank, card.size(), core::max_card_size));
  }
  std::string bytes(reinterpret_cast<const char*>(card.data()), card.size());
  impl_->service.post([impl = impl_.get(), bytes = std::move(bytes)] {
    if (impl->channel) impl->channel->send(encode(CardMessage{bytes}));
  });
  std::unique_lock lock(impl_->mutex);
  const auto limit = std::chrono::duration<double>(impl_->settings.deadline_s) + grace;
  impl_->changed.wait_for(lock, limit, [this] { return impl_->cards || impl_->broken; });
  if (impl_->cards) return;
  throw Error(ErrorCode::bootstrap,
              fmt::format("start-up of {} ranks failed at rank {}: {}", impl_->job.size, impl_->job.rank,
                          impl_->broken.value_or("rank 0's store does not answer (GODWIT_STARTUP_TIMEOUT)")));
}

std::vector<std::byte> TcpStoreBootstrap::card(Rank rank) {
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->cards || rank < 0 || rank >= impl_->job.size)
    throw Error(ErrorCode::bootstrap, fmt::format("rank {} of {} has no card", rank, impl_->job.size));
  const auto bytes = std::as_bytes(std::span((*impl_->cards)[rank]));
  return {bytes.begin(), bytes.end()};
}

void TcpStoreBootstrap::on_failure(FailureHandler handler) { impl_->failures.set_handler(std::move(handler)); }

void TcpStoreBootstrap::abort(int exit_status, std::string_view reason) noexcept {
  impl_->run_to_end([&] { return impl_->send_last(encode(Abort{exit_status, std::string(reason)})); });
}

void TcpStoreBootstrap::finalize() noexcept {
  if (impl_->finalized) return;
  impl_->finalized = true;
  impl_->failures.stop();
  impl_->run_to_end([&] { return impl_->leave(); });
  impl_->service.stop();
}

}  // namespace godwit::pmi
