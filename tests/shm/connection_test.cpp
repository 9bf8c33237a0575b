// Strangers at the control socket, descriptors, and segments that come and go, on real transports in one process.
#include "core/card.hpp"
#include "core/core_options.hpp"
#include "core/text.hpp"
#include "shm/factory.hpp"
#include "shm/frame.hpp"
#include "shm/transport.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <godwit/memory.hpp>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

namespace godwit::shm {
namespace {

using Kind = core::Completion::Kind;

core::OptionSet default_options() {
  core::OptionSet options;
  options.add<core::CoreOptions>();
  options.add<ShmOptions>();
  return options;
}

struct Rig {
  explicit Rig(Rank its_rank) : rank(its_rank), transport(make_shm_transport(services, its_rank, "job")) {}
  ~Rig() {
    endpoint.reset();
    std::filesystem::remove(log_file);
  }
  std::string errors() const {
    std::ifstream file(log_file);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void open(const Rig& peer) {
    card = core::Card::of_this_process();
    endpoint = transport->open_endpoint({peer.rank, &card, peer.transport->address()});
  }
  core::Completion poll_one() {
    core::Completion completion;
    completion.peer = -1;
    transport->poll(std::span(&completion, 1));
    return completion;
  }
  template <class Done>
  bool poll_until(Done&& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      if (done(poll_one())) return true;
      std::this_thread::yield();
    }
    return false;
  }
  bool connect(const Rig& peer) {
    open(peer);
    return poll_until([](const core::Completion& c) { return c.peer >= 0 && c.kind == Kind::connected; });
  }

  const Rank rank;
  core::OptionSet options = default_options();
  std::string log_file = ::testing::TempDir() + fmt::format("connection_test.{}.{}.log", ::getpid(), rank);
  core::Log log{core::LogLevel::error, log_file};
  core::Clock clock;
  core::ServiceThread service;
  core::Services services{options, log, clock, service};
  std::unique_ptr<core::Transport> transport;
  core::Card card;
  std::unique_ptr<core::Endpoint> endpoint;
};

core::UniqueFd knock(const core::Transport& transport) {
  std::string name = "godwit-shm-";
  for (const std::byte byte : transport.address().subspan(2))
    name += fmt::format("{:02x}", static_cast<unsigned>(byte));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  core::UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  return socket;
}

bool is_dropped(int socket) {
  std::array<std::byte, 256> bytes;
  return ::recv(socket, bytes.data(), bytes.size(), 0) <= 0;
}

std::size_t open_files() {
  const auto files = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST(Connection, StrangersAreDroppedAndDoNoHarm) {
  Rig a(0), b(1);
  const std::size_t files = open_files();
  const std::array<std::byte, 300> garbage{std::byte{1}, std::byte{2}};
  for (const std::size_t bytes : {1UL, sizeof(Frame), 300UL}) {
    const core::UniqueFd socket = knock(*a.transport);
    ASSERT_GT(::send(socket.get(), garbage.data(), bytes, MSG_NOSIGNAL), 0);
    EXPECT_TRUE(is_dropped(socket.get())) << bytes;
  }
  Frame hello;
  hello.rank = 1;
  int error = 0;
  for (int variant = 0; variant < 5; ++variant) {  // well-formed, but not of a peer
    const core::UniqueFd socket = knock(*a.transport);
    Frame frame = hello;
    if (variant == 1) frame.job = core::hash64("job");  // without files
    if (variant == 2) frame.type = FrameType::good_bye;
    if (variant == 3) frame.type = FrameType::segment_request;
    if (variant == 4) frame.layout = 99;
    ASSERT_EQ(send_frame(socket.get(), frame, {}, error), FrameIo::done);
    EXPECT_TRUE(is_dropped(socket.get())) << variant;
  }
  knock(*a.transport);  // says nothing and goes
  const core::UniqueFd silent = knock(*a.transport);
  EXPECT_TRUE(b.connect(a));
  EXPECT_EQ(a.poll_one().peer, -1) << "strangers are not reported";
  // The service threads close what they have dropped in their own time.
  for (int i = 0; i < 5000 && open_files() > files + 8; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_LE(open_files(), files + 8) << "a connection in one process holds 2 sockets and 2 eventfds; 2 are of `silent`";
}

TEST(Connection, ARingOfImpossibleSizeIsRefused) {
  Rig a(0);
  const core::UniqueFd socket = knock(*a.transport);
  Frame hello;
  hello.rank = 1;
  hello.job = core::hash64("job");
  hello.ring_bytes = 65536;
  hello.max_message = 65536;
  std::vector<core::UniqueFd> files;
  for (int i = 0; i < 3; ++i) files.emplace_back(::dup(0));
  int error = 0;
  ASSERT_EQ(send_frame(socket.get(), hello, files, error), FrameIo::done);
  EXPECT_TRUE(is_dropped(socket.get()));
}

TEST(Connection, OtherJobsAreRefused) {
  Rig a(0);
  Rig other(1);
  other.transport = make_shm_transport(other.services, 1, "another job");
  other.open(a);
  EXPECT_TRUE(other.poll_until([](const core::Completion& c) { return c.peer == 0 && c.kind == Kind::peer_lost; }));
}

TEST(Connection, PostsAfterShutdownFailInWords) {
  Rig a(0), b(1);
  ASSERT_TRUE(a.connect(b));
  a.transport->shutdown();
  core::WorkRequest request;
  ASSERT_EQ(a.endpoint->post(std::span(&request, 1)), 1U);
  EXPECT_TRUE(a.poll_until([](const core::Completion& c) {
    return c.kind == Kind::done && c.status == ErrorCode::cancelled && !c.detail.empty();
  }));
}

// Whenever the host connects to a guest: it hears the message and the good-bye, once and in order, and logs no error.
class Guests : public ::testing::TestWithParam<int> {};

TEST_P(Guests, MayBeGoneBeforeTheHostConnects) {
  for (int round = 0; round < 50; ++round) {
    Rig host(0);
    std::vector<std::byte> address;
    core::Card card = core::Card::of_this_process();
    {
      Rig guest(1);
      address.assign(guest.transport->address().begin(), guest.transport->address().end());
      ASSERT_TRUE(guest.connect(host));
      core::WireHeader header;
      header.tag = 17;
      ASSERT_TRUE(guest.endpoint->send(header, {}));
      guest.transport->shutdown();
    }
    std::vector<Kind> heard;
    const auto open = [&] { host.endpoint = host.transport->open_endpoint({1, &card, address}); };
    // Before anything of it is polled; after its message; or after its good-bye.
    if (GetParam() == 0) open();
    ASSERT_TRUE(host.poll_until([&](const core::Completion& c) {
      if (c.peer < 0) return false;
      if (c.kind != Kind::connected) heard.push_back(c.kind);
      EXPECT_EQ(c.status, ErrorCode::ok) << c.detail;
      if (c.kind == Kind::message && GetParam() == 1) open();
      return c.kind == Kind::peer_lost;
    }));
    EXPECT_EQ(heard, (std::vector<Kind>{Kind::message, Kind::peer_lost}));
    EXPECT_EQ(host.errors(), "");
    if (GetParam() == 0) continue;
    open();
    ASSERT_TRUE(host.poll_until([](const core::Completion& c) { return c.kind == Kind::peer_lost; }));
    core::WorkRequest request;
    ASSERT_EQ(host.endpoint->post(std::span(&request, 1)), 1U);
    ASSERT_TRUE(host.poll_until([](const core::Completion& c) {
      return c.peer == 1 && c.kind == Kind::done && c.status != ErrorCode::ok && !c.detail.empty();
    }));
    EXPECT_EQ(host.errors(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Opened, Guests, ::testing::Range(0, 3));

TEST(Connection, NobodyThereIsTheErrorOfTheOperationOnly) {
  Rig other(2);
  std::vector<std::byte> address;
  {
    const Rig guest(1);
    address.assign(guest.transport->address().begin(), guest.transport->address().end());
  }
  other.card = core::Card::of_this_process();
  other.endpoint = other.transport->open_endpoint({1, &other.card, address});
  ASSERT_TRUE(other.poll_until([](const core::Completion& c) {
    return c.kind == Kind::peer_lost && c.status == ErrorCode::peer_failed && !c.detail.empty();
  }));
  EXPECT_EQ(other.errors(), "");
}

// Freed memory is unmapped at the peers, and later operations on it fail in words.
TEST(Connection, FreedSegmentsAreForgotten) {
  Rig a(0), b(1);
  ASSERT_TRUE(a.connect(b));
  constexpr std::size_t bytes = 3 << 20;
  auto* memory = static_cast<std::byte*>(allocate(bytes));
  const auto registration = b.transport->register_memory({memory, bytes}, MemoryKind::shared);
  const auto handle = a.endpoint->import_key(registration.key);
  ASSERT_TRUE(handle);
  std::uint64_t word = 5;
  core::WorkRequest add;
  add.op = core::Op::fetch_add;  // waits for the mapping, where a put might go by cross-memory attach
  add.local = std::as_writable_bytes(std::span(&word, 1));
  add.remote = {reinterpret_cast<std::uint64_t>(memory), *handle};
  ErrorCode status = ErrorCode::internal;
  const auto execute = [&] {
    return a.poll_until([&, posted = false](const core::Completion& c) mutable {
      posted = posted || a.endpoint->post(std::span(&add, 1)) == 1;
      status = c.status;
      return c.peer == 1 && c.kind == Kind::done;
    });
  };
  ASSERT_TRUE(execute());
  EXPECT_EQ(status, ErrorCode::ok);
  deallocate(memory);
  while (status == ErrorCode::ok) ASSERT_TRUE(execute());
  EXPECT_EQ(status, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace godwit::shm
