#include "pmi/tcp_connect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <godwit/error.hpp>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <climits>

#include <unistd.h>

namespace godwit::pmi {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds attempt_limit{2000};  // one address that does not answer must not cost the whole time
constexpr milliseconds first_pause{20}, longest_pause{500};

/// What stood in the way of an attempt.
struct Obstacle {
  std::string text;
  bool by_our_store = false;  // tells more than what other addresses say
  bool fatal = false;
};

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

/// Port by port, so that a dead address does not stand before the right one for long.
std::vector<tcp::endpoint> candidates(asio::io_context& io, const StoreConfig& config, Obstacle& obstacle) {
  std::vector<tcp::endpoint> endpoints;
  boost::system::error_code error;
  const auto found = tcp::resolver(io).resolve(config.host, "", error);
  if (error) obstacle.text = fmt::format("{} cannot be resolved: {}", config.words.host, error.message());
  for (const std::uint16_t port : config.ports)
    for (const auto& entry : found) endpoints.emplace_back(entry.endpoint().address(), port);
  return endpoints;
}

std::string words_of(const boost::system::system_error& error) {
  if (error.code() == asio::error::operation_aborted)
    return fmt::format("no answer within {} s", attempt_limit.count() / 1000);
  if (error.code() == asio::error::eof) return "it closed the connection";
  return error.code().message();
}

asio::awaitable<std::optional<JoinedStore>> try_join(std::shared_ptr<Channel> channel, tcp::endpoint where,
                                                     const StoreConfig& config, const std::string& secret,
                                                     Obstacle& obstacle) {
  channel->close_after(attempt_limit);
  try {
    co_await channel->connect(where);
    const Frame first = co_await channel->receive(max_request_size);
    const auto banner = decode<Banner>(first);
    if (banner.magic != store_magic) throw Error(ErrorCode::bootstrap, "it is another program's or version's store");
    if (banner.job != config.job) throw Error(ErrorCode::bootstrap, "it is the store of another job");
    Hello hello;
    hello.proof = sign(secret, banner.nonce, config.rank);
    hello.rank = config.rank;
    hello.size = config.size;
    hello.pid = static_cast<std::uint32_t>(getpid());
    hello.host = host_name();
    channel->send(encode(std::move(hello)));
    const Frame answer = co_await channel->receive(max_request_size);
    if (answer.kind == FrameKind::refusal) {
      const auto refusal = decode<Refusal>(answer);
      obstacle = {fmt::format("rank 0's store at {} refused it: {}", channel->peer(), refusal.reason), true,
                  refusal.fatal != 0};
      co_return std::nullopt;
    }
    const auto welcome = decode<Welcome>(answer);
    channel->unlimited();
    co_return JoinedStore{channel, welcome.job_nonce};
  } catch (const boost::system::system_error& error) {
    obstacle = {fmt::format("{}: {}", to_text(where), words_of(error)), false, false};
  } catch (const Error& error) {
    obstacle = {fmt::format("{}: {}", to_text(where), error.what()), false, false};
  }
  co_return std::nullopt;
}

[[noreturn]] void give_up(const StoreConfig& config, const BootstrapSettings& settings, const Obstacle& obstacle) {
  const std::string& what = config.words.join_failed;
  if (obstacle.fatal) throw Error(ErrorCode::bootstrap, fmt::format("{}: {}", what, obstacle.text));
  throw Error(ErrorCode::bootstrap,
              fmt::format("{} at {}, {} {}, within {} s (GODWIT_STARTUP_TIMEOUT): {}. {}", what, config.words.host,
                          config.ports.size() == 1 ? "port" : "ports", fmt::join(config.ports, ", "),
                          settings.deadline_s, obstacle.text, config.words.join_advice));
}

}  // namespace

asio::awaitable<JoinedStore> join_store(asio::io_context& io, StoreConfig config, BootstrapSettings settings,
                                        std::optional<tcp::endpoint> where) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(settings.deadline_s));
  Obstacle worst;
  for (milliseconds pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    Obstacle obstacle;
    std::vector<tcp::endpoint> endpoints;
    if (where)
      endpoints.push_back(*where);
    else
      endpoints = candidates(io, config, obstacle);
    if (endpoints.empty() && !worst.by_our_store) worst = obstacle;
    for (std::size_t i = 0; i < endpoints.size() && Clock::now() < deadline; ++i) {
      auto channel = std::make_shared<Channel>(Channel::Socket(io));
      std::optional<JoinedStore> joined = co_await try_join(channel, endpoints[i], config, settings.secret, obstacle);
      if (joined) co_return std::move(*joined);
      channel->close();
      // The first port is the likeliest: what happens at the others is of interest only if a store spoke.
      if (obstacle.by_our_store || (!worst.by_our_store && endpoints[i].port() == config.ports.front()))
        worst = obstacle;
      if (obstacle.fatal) give_up(config, settings, obstacle);
    }
    if (Clock::now() + pause >= deadline) give_up(config, settings, worst);
    asio::steady_timer timer(io, pause);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

}  // namespace godwit::pmi
