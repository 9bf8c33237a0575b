// The TCP store with ranks as threads: rendezvous, and everything that can be wrong with it.
#include "pmi/tcp_store.hpp"
#include "core/interfaces.hpp"
#include "harness.hpp"
#include "pmi/tcp_protocol.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace godwit::pmi {
namespace {

using test::card_of;
using test::error_of;
using test::free_port;
using test::Listener;
using test::Stranger;

struct Job {
  int size = 2;
  std::uint16_t port = free_port();
  Variables extra = {};
  BootstrapSettings settings = {.deadline_s = 30, .secret = {}, .port = {}, .interfaces = {}};
};

std::unique_ptr<core::Bootstrap> join(const Job& job, Rank rank) {
  static core::Log log(core::LogLevel::error);
  Variables variables{{"RANK", std::to_string(rank)},
                      {"WORLD_SIZE", std::to_string(job.size)},
                      {"MASTER_ADDR", "127.0.0.1"},
                      {"MASTER_PORT", std::to_string(job.port)}};
  for (const auto& [name, value] : job.extra) variables[name] = value;
  return std::make_unique<TcpStoreBootstrap>(variables, job.settings, log);
}

void check_cards(const Job& job, core::Bootstrap& bootstrap) {
  const Rank me = bootstrap.job().rank;
  bootstrap.exchange(card_of(me));
  for (Rank rank = 0; rank < job.size; ++rank) EXPECT_EQ(bootstrap.card(rank), card_of(rank));
}

/// Ranks 0 and 1, joined but without an exchange.
std::array<std::unique_ptr<core::Bootstrap>, 2> join_first(const Job& job) {
  std::array<std::unique_ptr<core::Bootstrap>, 2> first;
  std::jthread one([&] { first[1] = join(job, 1); });
  first[0] = join(job, 0);
  one.join();
  return first;
}

/// One thread per rank; an exception of any is a failure.
void run_ranks(int size, const std::function<void(Rank)>& body) {
  std::vector<std::jthread> threads;
  for (Rank rank = 0; rank < size; ++rank)
    threads.emplace_back([&body, rank] { EXPECT_EQ(error_of([&] { body(rank); }), "") << "rank " << rank; });
}

void run_job(const Job& job) {
  run_ranks(job.size, [&](Rank rank) { check_cards(job, *join(job, rank)); });
}

/// What each rank's start-up says.
std::vector<std::string> errors_of(const Job& job, const std::vector<Rank>& ranks) {
  std::vector<std::string> errors(ranks.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] { errors[i] = error_of([&] { check_cards(job, *join(job, ranks[i])); }); });
  threads.clear();
  return errors;
}

void expect_says(const std::string& text, const std::string& word) {
  EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' is not in: " << text;
}

TEST(TcpStore, EveryRankGetsAllCards) {
  for (const int size : {1, 2, 5, 8}) run_job({.size = size});
}

TEST(TcpStore, ManyRanks) { run_job({.size = 64}); }

TEST(TcpStore, SameJobNameOnAllRanksAndAnotherNextTime) {
  const Job job;
  std::array<std::string, 4> names;
  for (int round = 0; round < 2; ++round)
    run_ranks(2, [&](Rank rank) {
      const auto bootstrap = join(job, rank);
      names[2 * round + rank] = bootstrap->job().id;
      bootstrap->exchange({});
    });
  EXPECT_EQ(names[0], names[1]);
  EXPECT_EQ(names[2], names[3]);
  EXPECT_NE(names[0], names[2]);
}

TEST(TcpStore, RestartsOnTheSamePort) {
  const Job job{.size = 3};
  for (int round = 0; round < 5; ++round) run_job(job);
}

TEST(TcpStore, TwoJobsAtOnce) {
  const Job a{.size = 3}, b{.size = 3};
  std::jthread other([&] { run_job(b); });
  run_job(a);
}

TEST(TcpStore, NamesMissingRanksToAll) {
  Job job{.size = 4};
  job.settings.deadline_s = 1;
  for (const std::string& error : errors_of(job, {0, 2})) {
    expect_says(error, "ranks 1, 3 never came");
    expect_says(error, "GODWIT_STARTUP_TIMEOUT");
  }
}

TEST(TcpStore, NamesARankThatIsNotReady) {
  Job job{.size = 2};
  job.settings.deadline_s = 1;
  const auto ranks = join_first(job);
  expect_says(error_of([&] { ranks[0]->exchange({}); }), "has come but is not ready");
}

TEST(TcpStore, SaysThatRank0IsNotThere) {
  Job job;
  job.settings.deadline_s = 0.5;
  const std::string error = errors_of(job, {1})[0];
  expect_says(error, "127.0.0.1");
  expect_says(error, std::to_string(job.port));
  expect_says(error, "refused");
}

TEST(TcpStore, SaysThatTheHostIsUnknown) {
  Job job{.extra = {{"MASTER_ADDR", "no-such-host.invalid"}}};
  job.settings.deadline_s = 0.5;
  expect_says(errors_of(job, {1})[0], "no-such-host.invalid cannot be resolved");
}

TEST(TcpStore, StrangersDoNoHarm) {
  const Job job{.size = 3};
  const auto ranks = join_first(job);
  Stranger silent(job.port), leaver(job.port), talker(job.port), giant(job.port), liar(job.port), impostor(job.port);
  leaver.close();
  talker.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  giant.send("\xff\xff\xff\xff\x01");
  liar.send(encode(CardMessage{"no hello before it"}));
  Hello hello;
  hello.rank = -5;
  hello.size = 3;
  impostor.send(encode(hello));
  for (Stranger* stranger : {&talker, &giant, &liar, &impostor}) EXPECT_TRUE(stranger->was_dropped());
  std::jthread two([&] { check_cards(job, *join(job, 2)); });
  std::jthread one([&] { check_cards(job, *ranks[1]); });
  check_cards(job, *ranks[0]);
}

TEST(TcpStore, SecretsMustAgree) {
  Job job;
  job.settings.secret = "open sesame";
  run_job(job);
  job.settings.deadline_s = 2;
  Job wrong = job;
  wrong.settings.secret = "open barley";
  std::string of_zero;
  std::jthread zero([&] { of_zero = errors_of(job, {0})[0]; });
  expect_says(errors_of(wrong, {1})[0], "GODWIT_SECRET");
  zero.join();
  expect_says(of_zero, "rank 1 never came");
  expect_says(of_zero, "was refused: its GODWIT_SECRET");
}

TEST(TcpStore, WorldSizesMustAgree) {
  Job job;
  job.settings.deadline_s = 2;
  Job wrong = job;
  wrong.size = 3;
  std::jthread zero([&] { expect_says(errors_of(job, {0})[0], "rank 1 never came"); });
  expect_says(errors_of(wrong, {1})[0], "its WORLD_SIZE is 3, that of rank 0 is 2");
}

TEST(TcpStore, ARankCanJoinOnce) {
  Job job;
  const auto ranks = join_first(job);
  Job impatient = job;
  impatient.settings.deadline_s = 0.5;
  expect_says(errors_of(impatient, {1})[0], "has joined already");
  std::jthread one([&] { check_cards(job, *ranks[1]); });
  check_cards(job, *ranks[0]);
}

TEST(TcpStore, GoesToAnotherPortWhenAForeignServerHasIt) {
  const Job job{.size = 2};
  const Listener foreign(job.port);  // accepts, and never says a word
  run_job(job);
}

TEST(TcpStore, LeavesMasterPortToTorchrunsAgent) {
  const Job job{.size = 2, .extra = {{"TORCHELASTIC_RUN_ID", "run7"}}};
  const Listener agent(job.port);
  run_job(job);
}

TEST(TcpStore, IsNotFooledByAnotherJobsStore) {
  Job first{.size = 2};
  Job second{.size = 2};
  first.settings.port = second.port;  // where the second job looks first
  const auto zero = join(first, 0);
  run_job(second);
  std::jthread one([&] { check_cards(first, *join(first, 1)); });
  check_cards(first, *zero);
}

TEST(TcpStore, AFixedPortThatIsTakenIsAnError) {
  Job job;
  const Listener foreign(free_port());
  job.settings.port = foreign.port();
  const std::string error = errors_of(job, {0})[0];
  expect_says(error, "port " + std::to_string(foreign.port()));
  expect_says(error, "GODWIT_PORT");
}

TEST(TcpStore, ListensOnChosenInterfacesOnly) {
  const auto addresses = core::interface_addresses({});
  const auto outside = std::find_if(addresses.begin(), addresses.end(), [](const core::InterfaceAddress& entry) {
    return entry.address.find(':') == std::string::npos && !entry.loopback;
  });
  if (outside == addresses.end()) GTEST_SKIP() << "this host has no IPv4 interface but the loopback";
  Job job{.extra = {{"MASTER_ADDR", outside->address}}};
  job.settings.interfaces = {"^lo"};
  const std::unique_ptr<core::Bootstrap> zero = join(job, 0);
  EXPECT_THROW(Stranger{job.port}, std::runtime_error);
  const std::jthread one([&] { check_cards(job, *join(job, 1)); });  // alone, rank 0 would wait for it at the end
  check_cards(job, *zero);
}

TEST(TcpStore, RanksLeaveInAnyOrder) {
  for (const Rank first : {0, 1, 2}) {
    const Job job{.size = 3};
    std::mutex mutex;
    std::condition_variable changed;
    int left = 0;
    run_ranks(3, [&](Rank rank) {
      const auto bootstrap = join(job, rank);
      bootstrap->on_failure([](Rank dead, const std::string& why) { ADD_FAILURE() << dead << " died: " << why; });
      check_cards(job, *bootstrap);
      std::unique_lock lock(mutex);
      if (rank != first) changed.wait(lock, [&] { return left > 0; });
      EXPECT_EQ(bootstrap->card(2), card_of(2));
      lock.unlock();
      bootstrap->finalize();
      lock.lock();
      ++left;
      changed.notify_all();
    });
  }
}

TEST(TcpStore, LeavingBeforeTheExchangeFailsTheOthers) {
  const Job job{.size = 3};
  std::jthread leaver([&] { join(job, 1); });
  for (const std::string& error : errors_of(job, {0, 2})) expect_says(error, "rank 1 (host ");
}

TEST(TcpStore, ALateRankHearsWhyTheOthersFailed) {
  const Job job{.size = 3};
  auto leaver = join_first(job);
  leaver[1].reset();
  std::jthread zero([&] {
    expect_says(error_of([&] { check_cards(job, *leaver[0]); }), "rank 1 (host ");
    leaver[0].reset();
  });
  expect_says(errors_of(job, {2})[0], "rank 1 (host ");
}

TEST(TcpStore, AbortReachesTheOthers) {
  const Job job{.size = 3};
  std::mutex mutex;
  std::condition_variable changed;
  int told = 0;
  run_ranks(3, [&](Rank rank) {
    const auto bootstrap = join(job, rank);
    bootstrap->on_failure([&](Rank dead, const std::string& why) {
      EXPECT_EQ(dead, 1);
      expect_says(why, "abort(7): enough");
      const std::lock_guard lock(mutex);
      ++told;
      changed.notify_all();
    });
    check_cards(job, *bootstrap);
    if (rank == 1) return bootstrap->abort(7, "enough");
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return told == 2; }));
  });
}

TEST(TcpStore, RefusesAnOversizedCard) {
  const auto alone = join({.size = 1}, 0);
  const std::vector<std::byte> big(257);
  expect_says(error_of([&] { alone->exchange(big); }), "257 bytes");
}

}  // namespace
}  // namespace godwit::pmi
