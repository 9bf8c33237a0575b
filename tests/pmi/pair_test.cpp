// A server and a client without a launcher, as threads: who is which rank, and what errors call them.
#include "pmi/pair.hpp"
#include "core/core_options.hpp"
#include "harness.hpp"

#include <thread>

namespace godwit::pmi {
namespace {

using test::card_of;
using test::error_of;
using test::free_port;
using test::Listener;

core::OptionSet options_with(const core::OptionSet::Variables& set) {
  core::OptionSet options;
  options.add<core::CoreOptions>();
  options.load({}, set);
  return options;
}

std::unique_ptr<core::Bootstrap> join(const PairEnd& end, const core::OptionSet::Variables& set = {}) {
  static core::Log log(core::LogLevel::error);
  return join_pair(end, options_with(set), log);
}

TEST(Pair, ServerIsRankZero) {
  const std::uint16_t port = free_port();
  const auto server = join({.server = {}, .port = port});
  std::jthread other([port] {
    EXPECT_EQ(error_of([port] {
                const auto client = join({.server = "localhost", .port = port}, {{"STARTUP_TIMEOUT", "30"}});
                EXPECT_EQ(client->job().rank, 1);
                EXPECT_EQ(client->job().size, 2);
                client->exchange(card_of(1));
                EXPECT_EQ(client->card(0), card_of(0));
              }),
              "");
  });
  EXPECT_EQ(server->job().rank, 0);
  EXPECT_NE(server->job().via.find("no launcher"), std::string::npos);
  server->exchange(card_of(0));
  EXPECT_EQ(server->card(1), card_of(1));
}

TEST(Pair, UsesOnePortOnly) {
  EXPECT_EQ(pair_config({.server = "node0", .port = 4711}).ports, std::vector<std::uint16_t>{4711});
  EXPECT_NE(pair_config({.server = "node0", .port = 4711}).job, pair_config({.server = "node0", .port = 4712}).job);
  EXPECT_EQ(pair_config({.server = "node0", .port = 4711}).job, pair_config({.server = {}, .port = 4711}).job);
}

TEST(Pair, ErrorsSpeakOfServerAndClient) {
  const Listener taken(free_port());
  const std::string no_port = error_of([&] { join({.server = {}, .port = taken.port()}); });
  EXPECT_NE(no_port.find("the server cannot listen"), std::string::npos) << no_port;
  EXPECT_EQ(no_port.find("MASTER"), std::string::npos) << no_port;
  const std::string no_name = error_of([] { join({.server = "no-such-host.invalid", .port = 1}); });
  EXPECT_NE(no_name.find("no host has the name"), std::string::npos) << no_name;
  const std::string no_server = error_of([] {
    join({.server = "127.0.0.1", .port = free_port()}, {{"STARTUP_TIMEOUT", "0.3"}});
  });
  EXPECT_NE(no_server.find("Is the server running"), std::string::npos) << no_server;
  EXPECT_EQ(no_server.find("RANK"), std::string::npos) << no_server;
}

TEST(Pair, TheServersPatienceIsLimitedOnRequest) {
  const auto server = join({.server = {}, .port = free_port()}, {{"STARTUP_TIMEOUT", "0.3"}});
  const std::string error = error_of([&] { server->exchange(card_of(0)); });
  EXPECT_NE(error.find("0.3 s"), std::string::npos) << error;
}

}  // namespace
}  // namespace godwit::pmi
