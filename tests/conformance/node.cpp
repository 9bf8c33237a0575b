#include "node.hpp"

#include "core/core_options.hpp"

#include <array>
#include <atomic>
#include <cstring>

namespace godwit::conformance {
namespace {

core::OptionSet make_options(const TransportCase& transport_case) {
  core::OptionSet options;
  options.add<core::CoreOptions>();
  transport_case.add_options(options);
  options.load({}, transport_case.options);
  return options;
}

}  // namespace

Node::Node(const TransportCase& transport_case, Rank its_rank, std::string_view job)
    : rank(its_rank),
      options_(make_options(transport_case)),
      log_(core::LogLevel::off),
      services_{options_, log_, clock_, service_},
      transport(transport_case.make(services_, its_rank, job)) {}

Node::~Node() {
  endpoints_.clear();
  transport.reset();
}

core::Card Node::card() const {
  core::Card card = core::Card::of_this_process();
  const auto address = transport->address();
  card.addresses.emplace_back(transport->name(), std::vector(address.begin(), address.end()));
  return card;
}

core::Endpoint& Node::open(Rank peer, const core::Card& card) {
  auto endpoint = transport->open_endpoint({peer, &card, card.address_of(transport->name())});
  return *(endpoints_[peer] = std::move(endpoint));
}

core::Reach Node::reaches(Rank peer, const core::Card& card) const {
  return transport->reaches({peer, &card, card.address_of(transport->name())});
}

std::size_t Node::poll(std::size_t most) {
  std::array<core::Completion, 64> completions;
  clock_.refresh();
  const std::size_t n = transport->poll(std::span(completions).first(most));
  for (const auto& c : std::span(completions).first(n)) {
    Received& r =
        received.emplace_back(Received{c.kind, c.status, c.peer, c.cookie, c.imm, {}, {}, std::string(c.detail)});
    if (c.kind != Kind::message) continue;
    std::memcpy(&r.header, c.payload.data(), sizeof(r.header));
    const auto payload = c.payload.subspan(sizeof(r.header));
    r.payload.assign(payload.begin(), payload.end());
  }
  return n;
}

bool Node::take(Kind kind, Received& out, Rank peer) {
  for (auto it = received.begin(); it != received.end(); ++it) {
    if (it->kind != kind || (peer >= 0 && it->peer != peer)) continue;
    out = std::move(*it);
    received.erase(it);
    return true;
  }
  return false;
}

std::size_t Node::count(Kind kind, Rank peer) const {
  std::size_t n = 0;
  for (const auto& r : received) n += r.kind == kind && (peer < 0 || r.peer == peer) ? 1 : 0;
  return n;
}

void connect(Node& a, Node& b) {
  a.open(b.rank, b.card());
  b.open(a.rank, a.card());
  const auto both = [&] { return a.count(Kind::connected, b.rank) == 1 && b.count(Kind::connected, a.rank) == 1; };
  ASSERT_TRUE(until([&] { a.poll(), b.poll(); }, both));
  Received connected;
  a.take(Kind::connected, connected, b.rank);
  b.take(Kind::connected, connected, a.rank);
}

void post_all(core::Endpoint& endpoint, std::span<const core::WorkRequest> requests, std::vector<Node*> polled) {
  std::size_t posted = 0;
  const auto step = [&] {
    posted += endpoint.post(requests.subspan(posted));
    if (posted == requests.size()) return;
    for (Node* node : polled) node->poll();
  };
  ASSERT_TRUE(until(step, [&] { return posted == requests.size(); }));
}

Received execute(Node& node, Rank peer, core::WorkRequest request, std::vector<Node*> also_polled) {
  static std::atomic<std::uint64_t> next_cookie = 1'000'000;
  request.signalled = true;
  request.cookie = next_cookie++;
  also_polled.push_back(&node);
  post_all(node.endpoint(peer), std::span(&request, 1), also_polled);
  Received done{};
  const auto arrived = [&] { return node.take(Kind::done, done) && done.cookie == request.cookie; };
  EXPECT_TRUE(until(
      [&] {
        for (Node* polled : also_polled) polled->poll();
      },
      arrived));
  return done;
}

core::WorkRequest send_request(std::span<std::byte> payload, std::int64_t tag, bool signalled) {
  core::WorkRequest request;
  request.signalled = signalled;
  request.header.tag = tag;
  request.local = payload;
  return request;
}

std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> data(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  for (auto& byte : data) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(state >> 56);
  }
  return data;
}

}  // namespace godwit::conformance
