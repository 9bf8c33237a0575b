// The control plane: listens, connects, exchanges queue pairs, notices deaths. Results go to the worker's mailbox.
//
//   who connects                        who is connected to
//   Hello (queue pair in INIT)   ->     queue pair to RTS, LinkMade
//   queue pair to RTS, LinkMade  <-     Hello
//   LinkReady; Ready             ->     LinkReady
//
// With rdma_cm (control_cm.cpp) the queue pairs are not connected by the Hellos: when both have been exchanged, who
// connects does so once more over rdma_cm (cm.hpp), and then says Ready.
//
// When two ranks connect to each other at the same time, the connection of the lower rank counts: it ignores ("parks")
// the other one, which the higher rank closes when it has accepted the lower rank's.
//
// Threads: constructor and destructor by the worker; all else on the service thread.
#pragma once

#include "core/services.hpp"
#include "verbs/address.hpp"
#include "verbs/async_events.hpp"
#include "verbs/cm.hpp"
#include "verbs/mailbox.hpp"
#include "verbs/session.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace godwit::verbs {

/// Queue pairs are connected by rdma_cm, which listens at the first of the addresses that is the adapter's.
struct CmSetup {
  CmApi& api;
  std::vector<Gid> addresses;
};

using Adapters = std::vector<std::unique_ptr<Adapter>>;  // of the rails in use, best first

/// The worker has let a failed queue pair go and wants a fresh one.
struct PairWish {
  std::uint32_t round = 0;
  std::uint64_t acknowledged = 0;  // frames of ours that the peer has
  bool progress = false;           // something has gone well since the last wish
  std::uint32_t avoid = 0;         // routes (bits) that have just failed
  std::string why;
};

class Control final : private Session::Owner, private AsyncEvents::Owner, private Cm::Owner {
 public:
  /// Listens. `rails` as in the card. With rdma_cm there is one adapter. Throws Error(transport), with rdma_cm also
  /// Error(not_supported).
  Control(core::Services& services, Rank rank, std::string_view job, const Adapters& adapters,
          std::vector<RailEnd> rails, Mailbox& mailbox, const std::optional<CmSetup>& cm);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  std::uint16_t listening_port() const noexcept { return listening_port_; }

  void connect(const PeerName& peer, const TransportAddress& address);
  /// We have given the connection up.
  void give_up(Rank peer, const std::string& why);
  /// Failed queue pairs are replaced.
  bool recovers() const noexcept { return recovery_time_.count() > 0 && !cm_; }
  void recover(Rank peer, const PairWish& wish);
  /// The worker counts frames of the fresh queue pair, after `received` of those before.
  void resume(Rank peer, std::uint32_t round, std::uint64_t received);
  /// The worker has found out that nothing of it works any more.
  void lose_adapter(Adapter& adapter, const std::string& why) { on_adapter_failed(adapter, why); }
  /// Good-bye to everybody; `sent` by rank, for those with a connection.
  void say_good_bye(const std::map<Rank, std::uint64_t>& sent);

 private:
  using SessionPointer = std::shared_ptr<Session>;

  Session::Owner& owner() noexcept { return *this; }
  void hand_over(Session& session);
  void listen();
  void accept_later(boost::asio::ip::tcp::acceptor& acceptor);
  Hello make_hello(const Session& session) const;
  static void send_hello(Session& session, const Hello& hello);
  std::string silence_words() const;
  void complete_connection(Session& session, const Hello& hello);
  void take_hello(Session& session, const Hello& hello);
  void take_answer(Session& session, const Hello& hello);
  void take_ready(Session& session);
  void on_connected(Session& session) override;
  void on_message(Session& session, SideMessage kind, std::span<const std::byte> bytes) override;
  void on_end(Session& session, const std::string& why) override;
  void on_pair_failed(Adapter& adapter, std::uint32_t number, const std::string& why, bool may_pass) override;
  void on_port_down(Adapter& adapter) override;
  void on_port_changed(Adapter& adapter) override;
  void on_adapter_failed(Adapter& adapter, const std::string& why) override;
  QueuePair* on_cm_request(const CmGreeting& greeting) override;
  void on_cm_receives(Rank peer) override;
  void on_cm_connected(Rank peer) override;
  void on_cm_lost(Rank peer, const std::string& why) override;
  // control_rails.cpp
  void find_routes(Session& session, std::span<const RailEnd> rails) const;
  Offer make_offer(const Session& session, std::string& trouble) const;
  void make_first_offer(Session& session, const PairOffer* theirs);
  // control_recovery.cpp
  static void begin_round(Session& session, std::uint32_t round);
  void announce_round(Session& session, const std::string& why, bool avoid = false);
  Adapter& adapter_of(const Session& session, std::size_t route) const {
    return *adapters_[session.routes[route].here];
  }
  bool uses(const Session& session, const Adapter& adapter) const;
  bool has_other_rail(const Session& session, const Adapter& adapter, bool usable) const;
  void regain(Session& session);
  void pursue(Session& session);
  void offer_pair(Session& session);
  void connect_pair(Session& session);
  void take_recover(Session& session, const Recover& recover);
  void take_resume(Session& session, const Resume& resume);
  void finish_recovery(Session& session);
  void give_up_recovery(Session& session);
  // control_cm.cpp
  void check_way(const Hello& hello) const;
  void connect_by_cm(Session& session, const Hello& hello);
  void forget_cm(Rank peer);
  static std::uint64_t new_token();
  void lose(Session& session, ErrorCode status, const std::string& why, std::uint64_t sent = 0);
  static void send_bye(Session& session, std::uint64_t sent);
  void drop(Session& session, const std::string& why);
  bool is_current(const Session& session) const;

  core::Services& services_;
  const Rank rank_;
  const std::uint64_t job_;
  const std::string host_;
  const std::chrono::milliseconds connect_time_;
  const std::chrono::milliseconds recovery_time_;
  const Adapters& adapters_;
  const std::vector<RailEnd> rails_;
  Mailbox& mailbox_;
  std::vector<boost::asio::ip::tcp::acceptor> acceptors_;
  std::uint16_t listening_port_ = 0;
  std::map<Rank, SessionPointer> sessions_;                   // connecting and open
  std::map<std::pair<unsigned, std::uint32_t>, Rank> pairs_;  // by our rail and number of our queue pair
  std::vector<std::unique_ptr<AsyncEvents>> events_;
  std::unique_ptr<Cm> cm_;              // nullptr: queue pairs are connected by the Hellos
  std::map<Rank, std::string> ended_;   // lost, or gone before we came: why
  std::set<SessionPointer> strangers_;  // no hello yet, or parked
  bool said_good_bye_ = false;
  const std::shared_ptr<int> life_ = std::make_shared<int>();  // of handlers that may come later
};

}  // namespace godwit::verbs
