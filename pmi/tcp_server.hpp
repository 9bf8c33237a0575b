// The TCP store: rank 0's end of it. Collects the ranks' cards, hands all of them to everyone, then tells everyone
// whose connection ends without a good-bye. Includes Boost.Asio: only for .cpp files of the store. Everything
// runs on the thread of the io_context, the constructor before it has started to use the store.
#pragma once

#include "core/log.hpp"
#include "pmi/settings.hpp"
#include "pmi/tcp_channel.hpp"
#include "pmi/tcp_config.hpp"

#include <boost/asio/io_context.hpp>

#include <optional>
#include <vector>

namespace godwit::pmi {

class StoreServer {
 public:
  /// Listens on the first port of the list that is free. Throws Error(bootstrap) that names them all if none is.
  StoreServer(boost::asio::io_context& io, const StoreConfig& config, const BootstrapSettings& settings,
              core::Log& log);
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  /// Where rank 0 itself reaches it.
  boost::asio::ip::tcp::endpoint endpoint() const { return acceptors_.front().local_endpoint(); }
  /// Accepts ranks from now on; the deadline begins.
  void start();
  /// Tells everyone that the store's end is orderly and returns when that is written, or after `limit`. After a
  /// failed start-up it stays a moment longer for the ranks that are late.
  boost::asio::awaitable<void> close(std::chrono::milliseconds limit);

 private:
  using Acceptor = boost::asio::ip::tcp::acceptor;
  struct Member {
    std::shared_ptr<Channel> channel;  // nothing: has not come, or has gone
    std::optional<std::string> card;
    std::string who;     // "rank 3 (host node1, pid 4711, 10.0.0.7:43210)"
    std::string remark;  // why somebody who said to be this rank was refused
    bool heard = false;  // has joined, or was told that the start-up has failed
  };

  boost::asio::awaitable<void> accept_all(Acceptor& acceptor);
  boost::asio::awaitable<void> serve(std::shared_ptr<Channel> channel);
  boost::asio::awaitable<std::optional<Rank>> admit(std::shared_ptr<Channel> channel);
  std::optional<Refusal> reason_to_refuse(const Hello& hello, std::uint64_t nonce);
  /// False when the rank leaves with this.
  bool handle(Rank rank, const Frame& frame);
  void take_card(Rank rank, std::string card);
  void lost(Rank rank, const std::string& how);
  void fail(const std::string& reason);
  std::string missing_ranks() const;
  bool all_heard() const;
  void broadcast(std::string frame, Rank except = -1);

  enum class Phase { gathering, exchanged, failed };

  core::Log& log_;
  const int size_;
  const std::uint64_t job_, job_nonce_;
  const double deadline_s_;
  const std::string secret_, twice_advice_;
  Phase phase_ = Phase::gathering;
  std::string failure_;
  int ready_ = 0;  // cards that have come
  std::vector<Member> members_;
  std::vector<Acceptor> acceptors_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer latecomers_;  // cancelled when none is left to wait for
};

}  // namespace godwit::pmi
