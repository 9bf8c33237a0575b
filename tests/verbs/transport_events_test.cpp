// Asynchronous events, cut paths, dead processes, GID tables.
#include "stage.hpp"

namespace godwit::verbs {
namespace {

const Options at_once{{"IB_RECOVERY_TIME", "0"}};

// Rank 0 is connected with 1 and 2.
struct Three {
  explicit Three(DeviceOf device = infiniband, Options options = {}) : stage(std::move(options), device) {
    connect(a, b);
    connect(a, c);
    connect(b, c);
  }
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1), &c = stage.node(2);
};

TEST(Events, AFatalQueuePairEndsItsConnectionOnly) {
  Three three(infiniband, at_once);
  auto& [stage, a, b, c] = three;
  send_numbered(stage, a, 1, 0, 5);
  stage.fabric.fail_pair(pair_of(a, 1));
  const Received here = expect_one_loss(stage, a, 1);
  const Received there = expect_one_loss(stage, b, 0);
  EXPECT_NE(here.detail.find("fatal"), std::string::npos) << here.detail;
  EXPECT_NE(there.detail.find("fatal"), std::string::npos) << there.detail;
  EXPECT_NE(here.detail.find("rank 1"), std::string::npos) << here.detail;
  EXPECT_NE(there.detail.find("rank 0"), std::string::npos) << there.detail;
  expect_numbered(b, 0, 5);
  expect_they_talk(stage, a, c);
  expect_they_talk(stage, b, c);
}

TEST(Events, AWrongKeyIsExplainedOnBothSides) {
  Three three;
  auto& [stage, a, b, c] = three;
  const Window window(a, b, 64);
  send_numbered(stage, a, 1, 0, 5);
  std::array<std::byte, 8> local{};
  WorkRequest request = window.request(Op::put, local);
  request.remote.handle ^= 0x1000;
  const Received failed = execute(a, 1, request);
  EXPECT_EQ(failed.status, ErrorCode::transport);
  EXPECT_NE(failed.detail.find("remote access error"), std::string::npos) << failed.detail;
  const Received here = expect_one_loss(stage, a, 1);
  const Received there = expect_one_loss(stage, b, 0);
  EXPECT_NE(here.status, ErrorCode::ok);
  EXPECT_NE(there.status, ErrorCode::ok);
  for (const Received& lost : {here, there})
    EXPECT_TRUE(lost.detail.find("access") != std::string::npos || lost.detail.find("may not") != std::string::npos)
        << lost.detail;
  expect_numbered(b, 0, 5);
  expect_they_talk(stage, a, c);
}

TEST(Events, ARemovedAdapterEndsAllItsConnections) {
  Three three;
  auto& [stage, a, b, c] = three;
  send_numbered(stage, a, 1, 0, 5);
  stage.fabric.remove_device("node0", "mlx5_0");
  for (const Rank peer : {1, 2}) {
    const Received here = expect_one_loss(stage, a, peer);
    EXPECT_NE(here.detail.find("removed"), std::string::npos) << here.detail;
    const Received there = expect_one_loss(stage, stage.node(peer), 0);
    EXPECT_NE(there.detail.find("removed"), std::string::npos) << there.detail;
    EXPECT_NE(there.detail.find("rank 0"), std::string::npos) << there.detail;
  }
  expect_numbered(b, 0, 5);
  expect_they_talk(stage, b, c);
}

// Who opens a connection afterwards is told, too, on both sides.
TEST(Events, NobodyConnectsToARemovedAdapter) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  stage.fabric.remove_device("node0", "mlx5_0");
  for (int i = 0; i < 100; ++i) stage.poll();
  b.open(0, a.card());
  const Received there = expect_one_loss(stage, b, 0);
  EXPECT_NE(there.detail.find("mlx5_0"), std::string::npos) << there.detail;
  a.open(1, b.card());
  expect_one_loss(stage, a, 1);
}

TEST(Events, AnOverrunQueueEndsAllConnections) {
  Three three;
  auto& [stage, a, b, c] = three;
  stage.fabric.fail_queue(stage.completion_queue(0));
  for (const Rank peer : {1, 2}) {
    const Received here = expect_one_loss(stage, a, peer);
    EXPECT_NE(here.detail.find("mlx5_0"), std::string::npos) << here.detail;
    const Received there = expect_one_loss(stage, stage.node(peer), 0);
    EXPECT_NE(there.detail.find("rank 0"), std::string::npos) << there.detail;
  }
  expect_they_talk(stage, b, c);
}

// The port comes back before the retransmissions end.
TEST(Events, APortThatComesBackLosesNothing) {
  Three three(roce);
  auto& [stage, a, b, c] = three;
  stage.fabric.manual_time_outs(true);
  send_numbered(stage, a, 1, 0, 5);
  stage.fabric.set_port(stage.port(0), false);
  send_numbered(stage, a, 1, 5, 15);
  for (int i = 0; i < 200; ++i) stage.poll();
  EXPECT_EQ(b.count(Kind::message), 5U);
  stage.fabric.set_port(stage.port(0), true);
  ASSERT_TRUE(stage.poll_until([&] { return b.count(Kind::message) == 15; }));
  expect_numbered(b, 0, 15);
  expect_they_talk(stage, a, b);
  expect_they_talk(stage, a, c);
}

TEST(Events, APortThatStaysDownIsExplained) {
  Three three(roce, at_once);
  auto& [stage, a, b, c] = three;
  send_numbered(stage, a, 1, 0, 5);
  stage.fabric.set_port(stage.port(0), false);
  send_numbered(stage, a, 1, 5, 6);
  const Received here = expect_one_loss(stage, a, 1);
  const Received there = expect_one_loss(stage, b, 0);
  EXPECT_NE(here.detail.find("port is down"), std::string::npos) << here.detail;
  EXPECT_NE(there.detail.find("port is down"), std::string::npos) << there.detail;
  expect_numbered(b, 0, 5);
  expect_they_talk(stage, b, c);
}

TEST(Events, ACutPathIsExplainedAndOthersGoOn) {
  Three three(roce, at_once);
  auto& [stage, a, b, c] = three;
  stage.fabric.set_path(stage.port(0), stage.port(1), false);
  send_numbered(stage, b, 0, 0, 1);
  const Received there = expect_one_loss(stage, b, 0);
  EXPECT_NE(there.detail.find("not acknowledged"), std::string::npos) << there.detail;
  expect_one_loss(stage, a, 1);
  expect_they_talk(stage, a, c);
  expect_they_talk(stage, b, c);
}

TEST(Events, AChangeOfGidsThatKeepsOursIsHarmless) {
  Three three(roce);
  auto& [stage, a, b, c] = three;
  auto gids = roce(0).facts.ports[0].gids;
  gids.push_back({5, fake_verbs::ipv4_gid("10.99.0.1"), GidType::roce_v2, "eth0"});
  stage.fabric.set_gids(stage.port(0), gids);
  for (int i = 0; i < 100; ++i) stage.poll();
  expect_they_talk(stage, a, b);
  expect_they_talk(stage, a, c);
}

TEST(Events, AGidThatMovesAwayIsExplained) {
  Three three(roce, at_once);
  auto& [stage, a, b, c] = three;
  stage.fabric.set_gids(stage.port(0), {{0, fake_verbs::link_local_gid(77), GidType::roce_v2, "eth0"}});
  send_numbered(stage, a, 1, 0, 1);
  const Received here = expect_one_loss(stage, a, 1);
  EXPECT_NE(here.detail.find("GID"), std::string::npos) << here.detail;
  expect_one_loss(stage, b, 0);
  expect_they_talk(stage, b, c);
}

// Nobody asks an RC queue pair of a dead peer anything: the one that only waits learns it by the side channel.
TEST(Events, AKilledPeerIsNoticedByThoseWhoWait) {
  Three three;
  auto& [stage, a, b, c] = three;
  send_numbered(stage, b, 0, 0, 5);
  stage.kill(1);
  for (Node* const node : {&a, &c}) {
    const Received lost = expect_one_loss(stage, *node, 1);
    EXPECT_EQ(lost.status, ErrorCode::peer_failed);
    EXPECT_NE(lost.detail.find("rank 1"), std::string::npos) << lost.detail;
  }
  expect_numbered(a, 1, 5);
  expect_they_talk(stage, a, c);
}

TEST(Events, OperationsUnderWayToAKilledPeerEnd) {
  Stage stage;
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  auto window = std::make_unique<Window>(a, b, 4096);
  std::vector<std::byte> local(4096);
  stage.fabric.hold(Hold::everything);
  std::vector<WorkRequest> requests(10, window->request(Op::get, local));
  post_all(a.endpoint(1), requests, {});
  stage.fabric.kill(stage.process(1));
  window.reset();
  stage.destroy(1);
  expect_one_loss(stage, a, 1);
  stage.fabric.run();
  for (int i = 0; i < 100; ++i) a.poll();
  EXPECT_EQ(a.received.back().kind, Kind::peer_lost) << "it stands for what had not completed; nothing comes after it";
}

// --- GID tables with holes -------------------------------------------------------------------------------------------

fake_verbs::DeviceSetup with_holes(Rank rank) {
  fake_verbs::DeviceSetup setup = roce(rank);
  auto& gids = setup.facts.ports[0].gids;
  const Gid own = gids[1].gid;
  const unsigned at = rank == 0 ? 7 : 3;
  gids = {{at - 2, own, GidType::roce_v1, "eth0"}, {at, own, GidType::roce_v2, "eth0"}};
  return setup;
}

TEST(GidTables, HolesAreNoObstacle) {
  Stage stage({}, with_holes);
  Node &a = stage.node(0), &b = stage.node(1);
  connect(a, b);
  expect_they_talk(stage, a, b);
  EXPECT_NE(a.endpoint(1).describe().find("GID 7"), std::string::npos) << a.endpoint(1).describe();
  EXPECT_NE(b.endpoint(0).describe().find("GID 3"), std::string::npos) << b.endpoint(0).describe();
}

TEST(GidTables, WithoutAGidIsAnErrorInWords) {
  Stage stage({}, [](Rank rank) {
    fake_verbs::DeviceSetup setup = roce(rank);
    setup.facts.ports[0].gids.clear();
    return setup;
  });
  try {
    stage.node(0);
    FAIL() << "it has no address";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("GID"), std::string::npos) << error.what();
  }
  stage.destroy(0);
}

}  // namespace
}  // namespace godwit::verbs
