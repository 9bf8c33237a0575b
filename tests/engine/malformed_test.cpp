// Messages that no Godwit would send: nothing crashes, nothing is written where it must not be, and the harm stays
// with the peer that sent them. Run with sanitizers.
#include <algorithm>

#include "stage.hpp"

#if defined(__SANITIZE_ADDRESS__)
// A message may announce more bytes than there are; the engine asks for them without throwing.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif
#if defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
#endif

namespace godwit::engine_test {
namespace {

using core::MessageKind;
using core::wire_bytes;

constexpr MessageKind all_kinds[] = {
    MessageKind::eager,        MessageKind::ready_to_send, MessageKind::clear_to_send, MessageKind::data,
    MessageKind::finished,     MessageKind::active,        MessageKind::credit,        MessageKind::put_data,
    MessageKind::put_end,      MessageKind::put_ack,       MessageKind::get_request,   MessageKind::atomic_request,
    MessageKind::atomic_reply, MessageKind::notify,        MessageKind::abort,         MessageKind::awaited};
static_assert(std::size(all_kinds) == core::message_kind_count);

TEST(Malformed, ShortPayloadsOfEveryKind) {
  for (const MessageKind kind : all_kinds) {
    for (const std::size_t size : {0, 1, 7, 8, 15, 16, 23, 31, 40, 71}) {
      SCOPED_TRACE(std::string(fake::to_string(kind)) + ", " + std::to_string(size) + " bytes");
      Stage stage;
      stage.rogue.send({.kind = kind}, pattern(size, size));
      // A member may abort its communicator, with whatever words.
      if (kind != MessageKind::abort || size < sizeof(core::AbortMessage)) stage.expect_contained();
    }
  }
}

TEST(Malformed, ShortStructsGiveThePeerUp) {
  for (const MessageKind kind : {MessageKind::ready_to_send, MessageKind::clear_to_send, MessageKind::finished,
                                 MessageKind::put_end, MessageKind::put_ack, MessageKind::get_request,
                                 MessageKind::atomic_request, MessageKind::atomic_reply, MessageKind::abort}) {
    Stage stage;
    const Pending waiting = stage.cluster.recv(0, 1, 10);
    stage.rogue.send({.kind = kind}, pattern(7, 1));
    EXPECT_TRUE(stage.given_up()) << fake::to_string(kind);
    ASSERT_TRUE(waiting.done());
    EXPECT_EQ(waiting.status(), ErrorCode::transport);
    EXPECT_NE(waiting.detail().find("rank 1 (node1, pid 1001) sent what it must not"), std::string::npos)
        << waiting.detail();
    EXPECT_NE(waiting.detail().find(fake::to_string(kind)), std::string::npos) << waiting.detail();
  }
}

TEST(Malformed, WrongVersion) {
  Stage stage;
  const Pending waiting = stage.cluster.recv(0, 1, 10);
  stage.rogue.send({.version = 77}, pattern(10, 1));
  EXPECT_EQ(waiting.status(), ErrorCode::transport);
  EXPECT_NE(waiting.detail().find("wire version 77 there, 1 here"), std::string::npos) << waiting.detail();
  stage.expect_contained();
}

TEST(Malformed, UnknownKind) {
  Stage stage;
  const Pending waiting = stage.cluster.recv(0, 1, 10);
  stage.rogue.send({.kind = static_cast<MessageKind>(200)}, pattern(10, 1));
  EXPECT_NE(waiting.detail().find("unknown kind of message 200"), std::string::npos) << waiting.detail();
  stage.expect_contained();
}

TEST(Malformed, WrongSequence) {
  for (const std::uint32_t sequence : {1U, 5U, 0xffffffffU}) {
    Stage stage;
    const Pending waiting = stage.cluster.recv(0, 1, 10);
    stage.rogue.next_sequence = sequence;
    stage.rogue.send(core::WireHeader{}, pattern(10, 1));
    EXPECT_EQ(waiting.status(), ErrorCode::transport);
    EXPECT_NE(waiting.detail().find("where 0 was due: messages were lost"), std::string::npos) << waiting.detail();
    stage.expect_contained();
  }
}

// What comes after the first offence is ignored, however well-formed.
TEST(Malformed, NothingMoreIsDoneWithThePeer) {
  Stage stage;
  stage.rogue.send({.version = 77}, pattern(10, 1));
  stage.rogue.next_sequence = 0;
  stage.rogue.send(core::WireHeader{}, pattern(10, 1));
  EXPECT_FALSE(stage.victim().probe(stage.cluster.world(0), any_source, any_tag));
}

// --- operations that do not exist, or are not meant -----------------------------------------------------------------

struct Answers {
  explicit Answers(std::uint64_t id) : operation(id) {}
  void send_all(Rogue& rogue) const {
    rogue.send(MessageKind::clear_to_send, core::ClearToSend{operation, 99, 1 << 20});
    for (const ErrorCode code :
         {ErrorCode::ok, ErrorCode::in_progress, ErrorCode::truncated, static_cast<ErrorCode>(222)}) {
      rogue.send(MessageKind::finished, core::Finished{operation, code});
      rogue.send(MessageKind::put_ack, core::Finished{operation, code});
      rogue.send(MessageKind::atomic_reply, core::AtomicReply{operation, 5, code, {}});
    }
    rogue.send({.kind = MessageKind::data, .tag = static_cast<Tag>(operation)}, pattern(100, 1));
  }
  std::uint64_t operation;
};

TEST(Malformed, AnswersToNothing) {
  for (const std::uint64_t id : {0ULL, 1ULL, 2ULL, 128ULL, 129ULL, 0xffffffffULL, 0x100000001ULL, ~0ULL}) {
    Stage stage;
    Answers(id).send_all(stage.rogue);
    stage.expect_contained();
    EXPECT_TRUE(stage.victim().flush(1).ok() || stage.given_up());
  }
}

// Data for an operation of ours that is on its way but receives none: its buffer is not the rogue's to write.
TEST(Malformed, DataForAnAtomic) {
  Stage stage;
  core::RemoteRegion region;
  region.owner = 1;
  std::uint64_t result = 99;
  core::Worker& victim = stage.victim();
  const Pending atomic(victim, victim.post_atomic(Operation::Kind::fetch_add, region, 0, 8, 1, 0, &result));
  stage.cluster.settle();
  stage.rogue.send({.kind = MessageKind::data, .tag = static_cast<Tag>(atomic.operation()->id)}, pattern(8, 1));
  EXPECT_TRUE(stage.given_up());
  EXPECT_TRUE(atomic.done());
  EXPECT_EQ(result, 99U);
  stage.expect_contained();
}

// Every answer for every kind of operation of ours towards the rogue: only the right one may end it.
TEST(Malformed, WrongAnswersToRealOperations) {
  for (int which = 0; which < 9; ++which) {
    SCOPED_TRACE(which);
    Stage stage;
    core::Worker& victim = stage.victim();
    const Bytes data = pattern(30'000, 3);
    Bytes target = pattern(30'000, 4);
    const Bytes before = target;
    core::RemoteRegion region;
    region.owner = 1;
    region.size = 100'000;
    std::uint64_t result = 0;
    Pending pending;
    using Kind = Operation::Kind;
    switch (which) {
      case 0: pending = stage.cluster.send(0, 1, data); break;
      case 1: pending = stage.cluster.send(0, 1, pattern(5, 1), 0, true); break;
      case 2: pending = stage.cluster.message(0, 1, data, 3); break;
      case 3: pending = Pending(victim, victim.post_put(region, data, 0, {})); break;
      case 4: pending = Pending(victim, victim.post_get(region, target, 0)); break;
      case 5: pending = Pending(victim, victim.post_atomic(Kind::fetch_add, region, 0, 8, 1, 0, &result)); break;
      case 6: pending = Pending(victim, victim.post_atomic(Kind::compare_swap, region, 0, 4, 1, 0, &result)); break;
      case 7: pending = stage.cluster.recv(0, 1, 30'000); break;
      case 8:  // a receive that streams from the rogue
        pending = stage.cluster.recv(0, 1, 30'000);
        stage.rogue.send(MessageKind::ready_to_send, core::ReadyToSend{.size = 30'000, .operation = 5});
        break;
    }
    stage.cluster.settle();
    ASSERT_NE(pending.operation(), nullptr);
    const std::uint64_t id = pending.operation()->id;
    // Twice: the second time it may be done, and nothing may be counted twice.
    for (int round = 0; round < 2; ++round) {
      stage.rogue.send(MessageKind::put_ack, core::Finished{id, ErrorCode::ok});
      stage.rogue.send(MessageKind::atomic_reply, core::AtomicReply{id, 5, ErrorCode::ok, {}});
      stage.rogue.send(MessageKind::finished, core::Finished{id, ErrorCode::ok});
      stage.rogue.send(MessageKind::clear_to_send, core::ClearToSend{id, 99, ~0ULL});
    }
    stage.rogue.send({.kind = MessageKind::data, .tag = static_cast<Tag>(id)}, pattern(100, 1));
    Answers(id).send_all(stage.rogue);
    EXPECT_EQ(data, pattern(30'000, 3)) << "a sender's buffer is never written";
    if (which != 4) {
      EXPECT_EQ(target, before);
    }
    const core::Peer& peer = victim.peer(1);
    EXPECT_LE(peer.rma_outstanding, 1U) << "counted down twice";
    EXPECT_LE(peer.emulated_outstanding, 1U);
    stage.expect_contained();
    stage.cluster.kill(1);
    stage.cluster.settle();
    EXPECT_TRUE(pending.done());
    EXPECT_TRUE(victim.describe_all().starts_with("0 pending")) << victim.describe_all();
  }
}

// --- sizes and offsets ---------------------------------------------------------------------------------------------

TEST(Malformed, DataBeyondTheEnd) {
  struct Piece {
    std::uint64_t offset;
    std::size_t size;
  };
  for (const Piece& piece : {Piece{0, 1001}, {1000, 1}, {1, 1000}, {~0ULL, 1}, {~0ULL - 50, 100}, {500, 100}}) {
    Stage stage;
    const Pending in = stage.cluster.recv(0, 1, 1000);
    stage.rogue.send(MessageKind::ready_to_send, core::ReadyToSend{.size = 1000, .operation = 5});
    const auto wish = stage.rogue.receive();
    ASSERT_TRUE(wish);
    ASSERT_EQ(wish->header.kind, MessageKind::clear_to_send);
    core::WireHeader header{.kind = MessageKind::data,
                            .tag = static_cast<Tag>(wish->as<core::ClearToSend>().receiver_operation)};
    core::set_offset(header, piece.offset);
    stage.rogue.send(header, pattern(piece.size, 1));
    EXPECT_TRUE(stage.given_up());
    ASSERT_TRUE(in.done());
    EXPECT_EQ(in.status(), ErrorCode::transport);
    stage.expect_contained();
  }
}

TEST(Malformed, AnnouncementsOfAbsurdSizes) {
  for (const std::uint64_t size : {std::uint64_t{1} << 62, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    for (const std::uint32_t has_key : {0U, 1U}) {
      for (const bool receive_first : {true, false}) {
        Stage stage;
        Pending in;
        if (receive_first) in = stage.cluster.recv(0, 1, 1000);
        stage.rogue.send(MessageKind::ready_to_send,
                         core::ReadyToSend{.size = size, .operation = 5, .address = 64, .has_key = has_key});
        if (!receive_first) in = stage.cluster.recv(0, 1, 1000);
        const auto wish = stage.rogue.receive();
        ASSERT_TRUE(wish);
        EXPECT_EQ(wish->as<core::ClearToSend>().bytes, 1000U);
        stage.expect_contained();
        stage.cluster.kill(1);
        stage.cluster.settle();
        EXPECT_TRUE(in.done());
      }
    }
  }
}

TEST(Malformed, ActiveMessagesOfAbsurdSizes) {
  for (const std::uint64_t size : {std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    Stage stage;
    std::size_t calls = 0;
    stage.victim().set_handler(stage.cluster.world(0), 3, [&](const ActiveMessage&) { ++calls; });
    for (int i = 0; i < 3; ++i)
      stage.rogue.send(MessageKind::ready_to_send, core::ReadyToSend{.size = size, .operation = 5, .active = 1}, 0, 3);
    const auto answer = stage.rogue.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->header.kind, MessageKind::finished);
    EXPECT_EQ(answer->as<core::Finished>().status, ErrorCode::no_memory);
    EXPECT_EQ(calls, 0U);
    stage.expect_contained();
  }
}

TEST(Malformed, OneSidedRequestsOutsideOfTheRegion) {
  Stage stage;
  Exposed window(stage.cluster, 0, 1000);
  const Bytes before = window.memory;
  struct Place {
    std::uint16_t slot;
    std::uint64_t offset, size;
  };
  for (const Place& place : {Place{0, 1000, 8},
                             {0, 996, 8},
                             {0, ~0ULL, 8},
                             {0, ~0ULL - 3, 8},
                             {1, 0, 8},
                             {65535, 0, 8},
                             {0, 0, ~0ULL},
                             {0, 0, 1001}}) {
    stage.rogue.send({.kind = MessageKind::put_data, .context = place.slot, .tag = static_cast<Tag>(place.offset)},
                     pattern(8, 1));
    stage.rogue.send(MessageKind::put_end, core::PutEnd{.operation = 3,
                                                        .offset = place.offset,
                                                        .size = place.size,
                                                        .slot = place.slot,
                                                        .notify = 2,
                                                        .has_notify = 1});
    stage.rogue.send(MessageKind::get_request, core::GetRequest{3, place.offset, place.size, place.slot, {}});
    if (place.size == 8)
      stage.rogue.send(MessageKind::atomic_request,
                       core::AtomicRequest{.operation = 3, .offset = place.offset, .operand = 1, .slot = place.slot});
    const std::size_t expected = place.size == 8 ? 3 : 2;
    for (std::size_t i = 0; i < expected; ++i) {
      const auto answer = stage.rogue.receive();
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->header.kind == MessageKind::atomic_reply ? answer->as<core::AtomicReply>().status
                                                                 : answer->as<core::Finished>().status,
                ErrorCode::invalid_argument);
    }
  }
  if (window.memory != before)
    std::fill(window.memory.begin(), window.memory.begin() + 8, std::byte{0});  // put to (0, 0)
  EXPECT_EQ(window.memory, before);
  EXPECT_EQ(window.counter(2), 0U);
  for (const auto& [offset, width] :
       {std::pair<std::uint64_t, std::uint32_t>{1, 8}, {4, 8}, {2, 4}, {0, 3}, {0, 0}, {0, 16}, {0, ~0U}}) {
    stage.rogue.send(MessageKind::atomic_request,
                     core::AtomicRequest{.operation = 3, .offset = offset, .operand = 1, .width = width});
    const auto answer = stage.rogue.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->as<core::AtomicReply>().status, ErrorCode::invalid_argument) << offset << " " << width;
  }
  EXPECT_EQ(window.memory, before);
  EXPECT_FALSE(stage.given_up());
  stage.expect_contained();
}

TEST(Malformed, NotificationsOfUnknownRegions) {
  Stage stage;
  Exposed window(stage.cluster, 0, 1000);
  for (const Tag tag : {Tag{0x10000}, Tag{-1}, max_tag, Tag{0xffff}})
    stage.rogue.send({.kind = MessageKind::notify, .tag = tag});
  EXPECT_EQ(window.counter(0xffff), 1U) << "only the last one names our region";
  stage.expect_contained();
}

TEST(Malformed, CreditThatWasNeverSpent) {
  for (const Tag tag : {Tag{1}, Tag{-1}, max_tag, Tag{1} << 40}) {
    Stage stage;
    stage.rogue.send({.kind = MessageKind::credit, .tag = tag});
    EXPECT_TRUE(stage.given_up()) << tag;
    stage.expect_contained();
  }
}

// --- aborts ----------------------------------------------------------------------------------------------------------

TEST(Malformed, AbortsWithOddCodesStillFail) {
  for (const ErrorCode code : {ErrorCode::ok, ErrorCode::in_progress, static_cast<ErrorCode>(250)}) {
    Stage stage;
    const Pending waiting = stage.cluster.recv(0, 2, 10);
    stage.rogue.send(MessageKind::abort, core::AbortMessage{.code = code});
    ASSERT_TRUE(waiting.done());
    EXPECT_EQ(waiting.status(), ErrorCode::transport);
  }
}

TEST(Malformed, AbortByOneWhoIsNoMember) {
  Stage stage;
  core::Group& group = stage.victim().add_group(core::make_group(2, 0, {0, 2}));
  stage.rogue.send(MessageKind::abort, core::AbortMessage{}, 2);
  EXPECT_FALSE(group.broken);
  EXPECT_TRUE(stage.given_up());
  stage.expect_contained();
}

TEST(Malformed, WaitsForOddCalls) {
  struct Case {
    std::uint32_t context;
    Tag sequence;
    bool contained;  // else the peer is given up
  };
  for (const Case& c : {Case{1, max_tag, true}, Case{1, 0, true}, Case{7, 3, true}, Case{0xffffffffU, 0, true},
                        Case{1, -1, false}, Case{0, 0, false}, Case{3, 0, false}}) {
    Stage stage;
    stage.victim().add_group(core::make_group(2, 0, {0, 2}));
    for (int times = 0; times < 3; ++times)
      if (!stage.given_up())
        stage.rogue.send({.kind = MessageKind::awaited, .context = c.context, .signature = 4711, .tag = c.sequence});
    EXPECT_EQ(stage.given_up(), !c.contained) << c.context << ", " << c.sequence;
    stage.expect_contained();
  }
}

TEST(Malformed, OddStagesAndContexts) {
  Stage stage;
  for (const std::uint32_t context : {5U, 8U, 0xffffffffU})
    for (const int value : {0, 1, 2, 3, 255})
      stage.rogue.send(
          MessageKind::abort,
          core::AbortMessage{
              .code = ErrorCode::mismatch, .stage = static_cast<core::AbortStage>(value), .sequence = ~0ULL},
          context);
  stage.expect_contained();
}

}  // namespace
}  // namespace godwit::engine_test
