#include "pmi/tcp_server.hpp"

#include "pmi/rank_list.hpp"
#include "pmi/tcp_listen.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <random>

namespace godwit::pmi {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::chrono::seconds handshake_limit{10};  // a stranger may stay silent this long
constexpr std::chrono::seconds latecomer_limit{10};  // how long a failed store stays to say so

std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

StoreServer::StoreServer(asio::io_context& io, const StoreConfig& config, const BootstrapSettings& settings,
                         core::Log& log)
    : log_(log),
      size_(config.size),
      job_(config.job),
      job_nonce_(random_number()),
      deadline_s_(settings.deadline_s),
      secret_(settings.secret),
      twice_advice_(config.words.twice_advice),
      members_(static_cast<std::size_t>(config.size)),
      deadline_(io),
      latecomers_(io) {
  const auto addresses = listen_addresses(config.host, settings.interfaces);
  std::string tried;
  for (const std::uint16_t port : config.ports) {
    error_code error;
    acceptors_ = listen_on(io, addresses, port, error);
    if (!acceptors_.empty()) return;
    tried += fmt::format("{}port {} ({})", tried.empty() ? "" : ", ", port, error.message());
  }
  throw Error(ErrorCode::bootstrap,
              fmt::format("{}: {}. {}", config.words.listen_failed, tried, config.words.listen_advice));
}

void StoreServer::start() {
  for (Acceptor& acceptor : acceptors_) {
    log_.debug("TCP store: rank 0 serves {} ranks at {}", size_, to_text(acceptor.local_endpoint()));
    asio::co_spawn(acceptor.get_executor(), accept_all(acceptor), asio::detached);
  }
  deadline_.expires_after(
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(deadline_s_)));
  deadline_.async_wait([this](const error_code& error) {
    if (!error && phase_ == Phase::gathering)
      fail(fmt::format("{} s (GODWIT_STARTUP_TIMEOUT) were not enough: {}", deadline_s_, missing_ranks()));
  });
}

asio::awaitable<void> StoreServer::accept_all(Acceptor& acceptor) {
  for (;;) {
    error_code error;
    Channel::Socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // out of descriptors, most likely: those that hang in the queue may still get in
      log_.warn("TCP store: rank 0 cannot accept a connection: {}", error.message());
      asio::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(100));
      co_await pause.async_wait(asio::use_awaitable);
      continue;
    }
    configure(socket);
    asio::co_spawn(acceptor.get_executor(), serve(std::make_shared<Channel>(std::move(socket))), asio::detached);
  }
}

asio::awaitable<void> StoreServer::serve(std::shared_ptr<Channel> channel) {
  std::optional<Rank> rank;
  std::string how;
  try {
    rank = co_await admit(channel);
    bool stays = rank.has_value();
    while (stays) {
      const Frame frame = co_await channel->receive(max_request_size);
      stays = handle(*rank, frame);
    }
  } catch (const boost::system::system_error& error) {
    how = fmt::format("its connection ended without a good-bye ({})", error.code().message());
  } catch (const std::exception& error) {
    how = error.what();
  }
  channel->close();
  if (how.empty()) co_return;
  if (rank)
    lost(*rank, how);
  else
    log_.debug("TCP store: dropped a connection from {}: {}", channel->peer(), how);
}

asio::awaitable<std::optional<Rank>> StoreServer::admit(std::shared_ptr<Channel> channel) {
  channel->close_after(handshake_limit);
  const Banner banner{.job = job_, .nonce = random_number()};
  channel->send(encode(banner));
  const Frame frame = co_await channel->receive(max_request_size);
  const auto hello = decode<Hello>(frame);
  if (auto refusal = reason_to_refuse(hello, banner.nonce)) {
    channel->send(encode(std::move(*refusal)));
    co_await channel->drain();
    co_return std::nullopt;
  }
  channel->unlimited();
  Member& member = members_[hello.rank];
  member.channel = channel;
  member.who = fmt::format("rank {} (host {}, pid {}, {})", hello.rank, hello.host, hello.pid, channel->peer());
  member.remark.clear();
  member.heard = true;
  channel->send(encode(Welcome{job_nonce_}));
  co_return hello.rank;
}

std::optional<Refusal> StoreServer::reason_to_refuse(const Hello& hello, std::uint64_t nonce) {
  const auto refuse = [&](bool fatal, std::string reason) {
    const std::string who = fmt::format("a process on host {} (pid {})", hello.host, hello.pid);
    log_.warn("TCP store: refused {} as rank {}: {}", who, hello.rank, reason);
    if (hello.rank >= 0 && hello.rank < size_ && !members_[hello.rank].channel)
      members_[hello.rank].remark = fmt::format("{} was refused: {}", who, reason);
    return Refusal{fatal, std::move(reason)};
  };
  if (hello.proof != sign(secret_, nonce, hello.rank))
    return refuse(true, "its GODWIT_SECRET is not that of rank 0; all ranks need the same");
  if (hello.size != size_)
    return refuse(true, fmt::format("its WORLD_SIZE is {}, that of rank 0 is {}", hello.size, size_));
  if (hello.rank < 0 || hello.rank >= size_)
    return refuse(true, fmt::format("there is no rank {} among {}", hello.rank, size_));
  if (phase_ == Phase::failed) {
    members_[hello.rank].heard = true;
    if (all_heard()) latecomers_.cancel();
    return Refusal{1, failure_};
  }
  if (!members_[hello.rank].who.empty())
    return refuse(false, fmt::format("{} has joined already; {}", members_[hello.rank].who, twice_advice_));
  return std::nullopt;
}

bool StoreServer::handle(Rank rank, const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::card: take_card(rank, decode<CardMessage>(frame).card); return true;
    case FrameKind::goodbye:
      members_[rank].channel.reset();
      if (phase_ == Phase::gathering) fail(fmt::format("{} left before all ranks had come", members_[rank].who));
      return false;
    case FrameKind::abort: {
      const auto abort = decode<Abort>(frame);
      lost(rank, fmt::format("called abort({}): {}", abort.status, abort.reason));
      return false;
    }
    default: throw Error(ErrorCode::bootstrap, "it sent what a rank does not send");
  }
}

void StoreServer::take_card(Rank rank, std::string card) {
  if (members_[rank].card) throw Error(ErrorCode::bootstrap, "it sent a second card");
  members_[rank].card = std::move(card);
  if (++ready_ < size_ || phase_ != Phase::gathering) return;
  phase_ = Phase::exchanged;
  deadline_.cancel();
  Cards all;
  for (const Member& member : members_) all.cards.push_back(*member.card);
  broadcast(encode(std::move(all)));
}

void StoreServer::lost(Rank rank, const std::string& how) {
  Member& member = members_[rank];
  member.channel.reset();
  log_.debug("TCP store: lost {}: {}", member.who, how);
  if (phase_ == Phase::gathering) fail(fmt::format("{} is gone: {}", member.who, how));
  if (phase_ == Phase::exchanged) broadcast(encode(Death{rank, how}), rank);
}

void StoreServer::fail(const std::string& reason) {
  phase_ = Phase::failed;
  failure_ = reason;
  deadline_.cancel();
  broadcast(encode(Failed{reason}));
}

std::string StoreServer::missing_ranks() const {
  std::vector<Rank> absent;
  std::string text, remarks;
  for (Rank rank = 0; rank < size_; ++rank) {
    const Member& member = members_[rank];
    if (member.card) continue;
    if (!member.channel) {
      absent.push_back(rank);
      if (!member.remark.empty()) remarks += fmt::format("; {}", member.remark);
    } else {
      remarks += fmt::format("; {} has come but is not ready", member.who);
    }
  }
  if (!absent.empty()) text = fmt::format("; {} never came", rank_list(absent));
  return (text + remarks).substr(2);
}

void StoreServer::broadcast(std::string frame, Rank except) {
  const auto bytes = std::make_shared<const std::string>(std::move(frame));
  for (Rank rank = 0; rank < size_; ++rank)
    if (rank != except && members_[rank].channel) members_[rank].channel->send(bytes);
}

bool StoreServer::all_heard() const {
  return std::all_of(members_.begin(), members_.end(), [](const Member& member) { return member.heard; });
}

asio::awaitable<void> StoreServer::close(std::chrono::milliseconds limit) {
  if (phase_ == Phase::failed && !all_heard() && deadline_.expiry() > std::chrono::steady_clock::now()) {
    // Who comes in time would find nobody, and wait for its own deadline without knowing why.
    latecomers_.expires_after(latecomer_limit);
    error_code cancelled;
    co_await latecomers_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
  for (Acceptor& acceptor : acceptors_) {
    error_code ignored;  // closing
    acceptor.close(ignored);
  }
  deadline_.cancel();
  broadcast(encode(Closing{}));
  std::vector<std::shared_ptr<Channel>> channels;
  for (const Member& member : members_)
    if (member.channel) channels.push_back(member.channel);
  for (const auto& channel : channels) channel->close_after(limit);
  for (const auto& channel : channels) co_await channel->drain();
}

}  // namespace godwit::pmi
