// The TCP store's messages: what goes in comes out, and nothing else comes in.
#include "pmi/tcp_protocol.hpp"

#include <gtest/gtest.h>
#include <godwit/error.hpp>

namespace godwit::pmi {
namespace {

Frame parse(const std::string& bytes) {
  const FrameHeader header = decode_header(bytes.data(), max_request_size);
  EXPECT_EQ(header.length, bytes.size() - frame_header_size);
  return {header.kind, bytes.substr(frame_header_size)};
}

Hello sample() {
  Hello hello;
  hello.proof = 0xfeedbeef;
  hello.rank = 7;
  hello.size = 9;
  hello.pid = 4711;
  hello.host = std::string("no\0de", 5);
  return hello;
}

TEST(StoreProtocol, RoundTrips) {
  const auto hello = decode<Hello>(parse(encode(sample())));
  EXPECT_EQ(hello.proof, 0xfeedbeefu);
  EXPECT_EQ(hello.rank, 7);
  EXPECT_EQ(hello.size, 9);
  EXPECT_EQ(hello.pid, 4711u);
  EXPECT_EQ(hello.host, std::string("no\0de", 5));
  Cards cards;
  cards.cards = {"", "one", std::string(200, '\0')};
  EXPECT_EQ(decode<Cards>(parse(encode(cards))).cards, cards.cards);
  EXPECT_NO_THROW(decode<Goodbye>(parse(encode(Goodbye{}))));
}

TEST(StoreProtocol, RefusesEveryCutAndEveryTail) {
  const Frame good = parse(encode(sample()));
  for (std::size_t length = 0; length < good.payload.size(); ++length)
    EXPECT_THROW(decode<Hello>({good.kind, good.payload.substr(0, length)}), Error) << length;
  EXPECT_THROW(decode<Hello>({good.kind, good.payload + "x"}), Error);
  EXPECT_THROW(decode<Welcome>(good), Error);
}

TEST(StoreProtocol, DoesNotBelieveCounts) {
  // A list that claims four billion entries and has none.
  EXPECT_THROW(decode<Cards>({FrameKind::cards, std::string(4, '\xff')}), Error);
}

TEST(StoreProtocol, RefusesForeignHeaders) {
  EXPECT_THROW(decode_header("GET / HTTP/1.1", max_request_size), Error);
  EXPECT_THROW(decode_header("\x01\x00\x00\x00\x63", max_request_size), Error);  // no such kind
  EXPECT_THROW(decode_header("\x01\x10\x00\x00\x01", max_request_size), Error);  // 4097 bytes
  EXPECT_EQ(decode_header("\x00\x10\x00\x00\x01", max_request_size).length, 4096u);
}

TEST(StoreProtocol, SignatureDependsOnEverything) {
  const auto signature = sign("secret", 1, 2);
  EXPECT_EQ(signature, sign("secret", 1, 2));
  EXPECT_NE(signature, sign("Secret", 1, 2));
  EXPECT_NE(signature, sign("secret", 2, 2));
  EXPECT_NE(signature, sign("secret", 1, 3));
}

}  // namespace
}  // namespace godwit::pmi
