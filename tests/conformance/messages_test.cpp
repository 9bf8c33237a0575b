// Sends: order, sizes, completions, back-pressure, life of payloads, fairness.
#include "node.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <set>

namespace godwit::conformance {
namespace {

using core::WorkRequest;

class Messages : public Conformance {};

std::vector<std::size_t> interesting_sizes(std::size_t max) {
  std::set<std::size_t> sizes{0, 1, 2, 3, max - 1, max};
  for (std::size_t n = 4; n < max; n *= 2)
    for (const std::size_t size : {n - 1, n, n + 1, n + n / 2}) sizes.insert(std::min(size, max));
  for (std::size_t n = 24; n <= 160 && n <= max; ++n) sizes.insert(n);  // around the slots of a ring
  return {sizes.begin(), sizes.end()};
}

TEST_P(Messages, ArriveInOrderAndWhole) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  const auto sizes = interesting_sizes(a.endpoint(1).capabilities().max_message - sizeof(core::WireHeader));
  for (auto [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto payload = pattern(sizes[i], i);
      const WorkRequest request = send_request(payload, static_cast<std::int64_t>(i));
      post_all(from->endpoint(to->rank), std::span(&request, 1), {from, to});
    }
    ASSERT_TRUE(until([&] { to->poll(); }, [&] { return to->count(Kind::message) == sizes.size(); }));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Received message;
      ASSERT_TRUE(to->take(Kind::message, message));
      EXPECT_EQ(message.peer, from->rank);
      EXPECT_EQ(message.header.tag, static_cast<std::int64_t>(i));
      EXPECT_EQ(message.payload, pattern(sizes[i], i)) << sizes[i] << " bytes";
    }
    EXPECT_EQ(from->received.size(), 0U) << "unsignalled sends do not complete";
  }
}

TEST_P(Messages, HeaderTravelsUnchanged) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  WorkRequest request;
  request.signalled = false;
  request.header = {core::wire_version, core::MessageKind::active, 7, 0xfedcba98, 0x12345678, 0x9abcdef0, -3};
  post_all(a.endpoint(1), std::span(&request, 1), {&a, &b});
  Received message;
  ASSERT_TRUE(until([&] { b.poll(); }, [&] { return b.take(Kind::message, message); }));
  EXPECT_EQ(std::memcmp(&message.header, &request.header, sizeof(request.header)), 0);
}

// The short way and work requests share one order.
TEST_P(Messages, SendIsAPostOfOneMessage) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  const std::size_t most = a.endpoint(1).capabilities().max_inline;
  const auto sizes = interesting_sizes(std::min<std::size_t>(most, 5000));
  std::size_t number = 0;
  for (const std::size_t size : sizes) {
    const auto payload = pattern(size, number);
    core::WireHeader header;
    header.tag = static_cast<std::int64_t>(number++);
    ASSERT_TRUE(until([&] { a.poll(), b.poll(); }, [&] { return a.endpoint(1).send(header, payload); }));
    auto next = pattern(3, number);
    const WorkRequest request = send_request(next, static_cast<std::int64_t>(number++));
    post_all(a.endpoint(1), std::span(&request, 1), {&a, &b});
  }
  ASSERT_TRUE(until([&] { a.poll(), b.poll(); }, [&] { return b.count(Kind::message) == number; }));
  EXPECT_EQ(a.received.size(), 0U) << "it does not complete";
  for (std::size_t i = 0; i < number; ++i) {
    Received message;
    ASSERT_TRUE(b.take(Kind::message, message));
    EXPECT_EQ(message.header.tag, static_cast<std::int64_t>(i));
    EXPECT_EQ(message.payload, pattern(i % 2 == 0 ? sizes[i / 2] : 3, i));
  }
}

TEST_P(Messages, SignalledSendsCompleteOnceInOrder) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  std::vector<WorkRequest> requests(100);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].signalled = i % 3 == 0;
    requests[i].cookie = i;
  }
  post_all(a.endpoint(1), requests, {&a, &b});
  ASSERT_TRUE(
      until([&] { a.poll(), b.poll(); }, [&] { return b.count(Kind::message) == 100 && a.count(Kind::done) == 34; }));
  for (std::size_t i = 0; i < requests.size(); i += 3) {
    Received done;
    ASSERT_TRUE(a.take(Kind::done, done));
    EXPECT_EQ(done.cookie, i);
    EXPECT_EQ(done.status, ErrorCode::ok);
    EXPECT_EQ(done.peer, 1);
  }
}

TEST_P(Messages, InlinePayloadIsReusableAfterPost) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  const std::size_t bytes = a.endpoint(1).capabilities().max_inline;
  auto payload = pattern(bytes, 1);
  const WorkRequest request = send_request(payload);
  post_all(a.endpoint(1), std::span(&request, 1), {});
  std::fill(payload.begin(), payload.end(), std::byte{0xee});
  Received message;
  ASSERT_TRUE(until([&] { b.poll(); }, [&] { return b.take(Kind::message, message); }));
  EXPECT_EQ(message.payload, pattern(bytes, 1));
}

// A receiver that does not poll holds the sender back; what was accepted is exactly a prefix.
TEST_P(Messages, FullQueueAcceptsAPrefix) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  const std::size_t max = std::min<std::size_t>(a.endpoint(1).capabilities().max_inline, 1000);
  std::vector<std::vector<std::byte>> payloads;
  std::vector<WorkRequest> requests;
  for (std::size_t i = 0; i < 20000; ++i) payloads.push_back(pattern((i * 37) % max, i));
  for (std::size_t i = 0; i < payloads.size(); ++i)
    requests.push_back(send_request(payloads[i], static_cast<std::int64_t>(i)));
  std::size_t posted = 0;
  for (std::size_t more = 1; more != 0; posted += more) more = a.endpoint(1).post(std::span(requests).subspan(posted));
  ASSERT_LT(posted, requests.size()) << "nothing held the sender back";
  EXPECT_GT(posted, 0U);
  post_all(a.endpoint(1), std::span(requests).subspan(posted), {&a, &b});
  ASSERT_TRUE(until([&] { b.poll(); }, [&] { return b.received.size() == requests.size(); }));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(b.received[i].header.tag, static_cast<std::int64_t>(i));
    ASSERT_EQ(b.received[i].payload, payloads[i]);
  }
}

TEST_P(Messages, PayloadsLastUntilTheNextPoll) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  const std::size_t bytes = std::min<std::size_t>(a.endpoint(1).capabilities().max_inline, 100);
  std::int64_t sent = 0;
  const auto fill = [&] {
    while (true) {
      auto payload = pattern(bytes, static_cast<std::uint64_t>(sent));
      const WorkRequest request = send_request(payload, sent);
      if (a.endpoint(1).post(std::span(&request, 1)) == 0) return;
      ++sent;
    }
  };
  std::int64_t seen = 0;
  // As many as it takes where a device is slow.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  for (int round = 0; round < 200 || (seen <= 100 && std::chrono::steady_clock::now() < deadline); ++round) {
    a.poll();  // may be how it learns of room
    fill();
    std::array<core::Completion, 16> completions;
    const std::size_t n = b.transport->poll(completions);
    fill();  // whatever room there is must not be that of the payloads
    for (const auto& completion : std::span(completions).first(n)) {
      ASSERT_EQ(completion.kind, Kind::message);
      const auto expected = pattern(bytes, static_cast<std::uint64_t>(seen++));
      ASSERT_TRUE(std::ranges::equal(completion.payload.subspan(sizeof(core::WireHeader)), expected));
    }
  }
  EXPECT_GT(seen, 100);
}

TEST_P(Messages, FloodBothWaysFromTwoThreads) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  constexpr std::int64_t count = 20000;
  const auto flood = [](Node& node, Rank peer) {
    const std::size_t max = node.endpoint(peer).capabilities().max_inline;
    std::int64_t sent = 0, seen = 0;
    const auto step = [&] {
      const auto size = [&](std::int64_t i) { return static_cast<std::size_t>(i * i) % (i % 5 == 0 ? max + 1 : 90); };
      auto payload = pattern(std::min(size(sent), max), static_cast<std::uint64_t>(sent));
      const WorkRequest request = send_request(payload, sent);
      if (sent < count && node.endpoint(peer).post(std::span(&request, 1)) == 1) ++sent;
      node.poll();
      for (Received message; node.take(Kind::message, message); ++seen) {
        ASSERT_EQ(message.header.tag, seen);
        ASSERT_EQ(message.payload, pattern(std::min(size(seen), max), static_cast<std::uint64_t>(seen)));
      }
    };
    EXPECT_TRUE(until(step, [&] { return (sent == count && seen == count) || ::testing::Test::HasFatalFailure(); }))
        << "rank " << node.rank << " has sent " << sent << " and seen " << seen
        << "; lost: " << node.count(Kind::peer_lost);
  };
  std::thread other([&] { flood(b, 0); });
  flood(a, 1);
  other.join();
}

// Sixteen peers send as much as they can; each gets its share of a slow receiver.
TEST_P(Messages, SixteenFloodingPeersGetTheirTurns) {
  constexpr Rank peers = 16;
  Node receiver(GetParam(), 0);
  std::vector<std::unique_ptr<Node>> senders;
  for (Rank r = 1; r <= peers; ++r) {
    senders.push_back(std::make_unique<Node>(GetParam(), r));
    connect(*senders.back(), receiver);
  }
  std::map<Rank, std::int64_t> sent, seen;
  const auto round = [&] {
    for (auto& sender : senders) {
      for (int i = 0; i < 4; ++i) {
        const WorkRequest request = send_request({}, sent[sender->rank]);
        sent[sender->rank] += static_cast<std::int64_t>(sender->endpoint(0).post(std::span(&request, 1)));
      }
    }
    receiver.poll(8);
    for (Received message; receiver.take(Kind::message, message);) ASSERT_EQ(message.header.tag, seen[message.peer]++);
  };
  std::int64_t total = 0;
  for (int i = 0; i < 4000; ++i) round();
  for (const auto& [rank, n] : seen) total += n;
  for (Rank r = 1; r <= peers; ++r) EXPECT_GE(seen[r], total / peers / 4) << "rank " << r << " of " << total;
}

INSTANTIATE_TEST_SUITE_P(Over, Messages, ::testing::ValuesIn(transport_cases()), case_name);

}  // namespace
}  // namespace godwit::conformance
