#include "core/card.hpp"

#include "core/wire.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

#include <sched.h>
#include <unistd.h>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

namespace godwit::core {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

Card sample() {
  Card card;
  card.host = {0x0123456789abcdefULL, 4026531840ULL, ~std::uint64_t{0}};
  card.pid = 4194304;
  card.cpu_count = 192;
  card.cpu_hash = 0xdeadbeef;
  card.core = 95;
  card.host_name = "node17.cluster";
  card.addresses = {{"shm", bytes_of("segment")}, {"ucx", bytes_of(std::string(100, '\0'))}, {"none", {}}};
  return card;
}

void expect_equal(const Card& a, const Card& b) {
  EXPECT_EQ(a.host, b.host);
  EXPECT_EQ(a.pid, b.pid);
  EXPECT_EQ(a.cpu_count, b.cpu_count);
  EXPECT_EQ(a.cpu_hash, b.cpu_hash);
  EXPECT_EQ(a.core, b.core);
  EXPECT_EQ(a.host_name, b.host_name);
  EXPECT_EQ(a.addresses, b.addresses);
}

std::string refusal(std::span<const std::byte> bytes) {
  try {
    Card::decode(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bootstrap);
    return error.what();
  }
  return "accepted";
}

TEST(Card, RoundTrip) {
  const Card card = sample();
  expect_equal(Card::decode(card.encode()), card);
  expect_equal(Card::decode(Card{}.encode()), Card{});
}

TEST(Card, AddressOf) {
  const Card card = sample();
  EXPECT_EQ(card.address_of("shm").size(), 7U);
  EXPECT_EQ(card.address_of("ucx").size(), 100U);
  EXPECT_TRUE(card.address_of("none").empty());
  EXPECT_TRUE(card.address_of("verbs").empty());
}

TEST(Card, HostNameIsCut) {
  Card card;
  card.host_name = std::string(300, 'h');
  EXPECT_EQ(Card::decode(card.encode()).host_name, std::string(40, 'h'));
}

TEST(Card, SizeIsBounded) {
  Card card = sample();
  card.addresses = {{"ucx", {}}};
  auto& address = card.addresses[0].second;
  address.resize(max_card_size - card.encode().size());
  EXPECT_EQ(card.encode().size(), max_card_size);
  expect_equal(Card::decode(card.encode()), card);
  address.emplace_back();
  EXPECT_THROW(card.encode(), Error);
  address.resize(1000);
  EXPECT_THROW(card.encode(), Error);
  card.addresses.assign(300, {"", {}});
  EXPECT_THROW(card.encode(), Error);
}

TEST(Card, EveryTruncationIsRefused) {
  const auto bytes = sample().encode();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(refusal(std::span(bytes).first(size)).find("it ends too early"), std::string::npos) << size;
}

TEST(Card, WhatIsNoCardIsRefused) {
  auto bytes = sample().encode();
  bytes.push_back(std::byte{0});
  EXPECT_NE(refusal(bytes).find("something follows its end"), std::string::npos);
  bytes.resize(max_card_size + 1);
  EXPECT_NE(refusal(bytes).find("it is too long"), std::string::npos);

  bytes = sample().encode();
  bytes[0] ^= std::byte{1};
  EXPECT_NE(refusal(bytes).find("it is no card"), std::string::npos);

  Card long_name;
  long_name.host_name = std::string(40, 'h');
  bytes = long_name.encode();
  const std::size_t length_at = bytes.size() - 1 - 40 - 1;  // before the name, which the address count follows
  bytes[length_at] = std::byte{41};
  bytes.push_back(std::byte{0});
  EXPECT_NE(refusal(bytes).find("its host name is too long"), std::string::npos);
}

TEST(Card, OtherVersionIsNamed) {
  auto bytes = sample().encode();
  bytes[2] = static_cast<std::byte>(wire_version + 7);
  const std::string words = refusal(bytes);
  EXPECT_NE(words.find("wire version " + std::to_string(wire_version + 7)), std::string::npos) << words;
  EXPECT_NE(words.find("this rank " + std::to_string(wire_version)), std::string::npos) << words;
}

// Whatever comes, decode() returns a card that encodes to the same bytes, or throws Error(bootstrap).
TEST(Card, RandomBytes) {
  std::mt19937 random(7);
  const auto good = sample().encode();
  int accepted = 0;
  for (int round = 0; round < 100000; ++round) {
    auto bytes = good;
    if (round % 2) {  // all random after a right beginning
      bytes.resize(random() % (max_card_size + 10));
      for (std::size_t i = 3; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random());
    } else {  // a few bytes changed
      for (unsigned changes = 1 + random() % 4; changes > 0; --changes)
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    try {
      ASSERT_EQ(Card::decode(bytes).encode(), bytes);
      ++accepted;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::bootstrap);
    }
  }
  EXPECT_GT(accepted, 1000);  // changes in plain numbers leave a card
}

TEST(Card, OfThisProcess) {
  const Card card = Card::of_this_process();
  EXPECT_EQ(card.pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_NE(card.host.boot, 0U);
  EXPECT_NE(card.host.net_namespace, 0U);
  EXPECT_NE(card.host.pid_namespace, 0U);
  EXPECT_TRUE(card.addresses.empty());
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  EXPECT_EQ(card.cpu_count, CPU_COUNT(&mask));
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof name - 1), 0);
  EXPECT_EQ(card.host_name, std::string(name).substr(0, 40));
  expect_equal(Card::decode(card.encode()), card);
}

TEST(Card, SameProcessSameIdentity) {
  EXPECT_EQ(Card::of_this_process().host, Card::of_this_process().host);
  EXPECT_EQ(Card::of_this_process().cpu_hash, Card::of_this_process().cpu_hash);
}

TEST(Card, HostIdSeparatesHosts) {
  const auto plain = Card::of_this_process().host, a = Card::of_this_process("a").host;
  EXPECT_EQ(a, Card::of_this_process("a").host);
  EXPECT_NE(a.boot, plain.boot);
  EXPECT_NE(a.boot, Card::of_this_process("b").host.boot);
}

TEST(Card, AffinityShowsInTheHash) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "one CPU only";
  Card bound;
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) ++cpu;
  std::thread([&] {  // binds this thread only
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    bound = Card::of_this_process();
  })
      .join();
  EXPECT_EQ(bound.cpu_count, 1);
  EXPECT_NE(bound.core, no_core);
  EXPECT_LE(bound.core, cpu) << "the first of the core's CPUs";
  EXPECT_NE(bound.cpu_hash, Card::of_this_process().cpu_hash);
}

}  // namespace
}  // namespace godwit::core
