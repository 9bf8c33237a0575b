// The ring alone, in plain memory of one process.
#include "shm/ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <thread>

namespace godwit::shm {
namespace {

// Memory of a ring and both of its ends.
struct Ring {
  explicit Ring(std::size_t bytes) : memory(bytes / sizeof(Line)), writer(place(bytes)), reader(place(bytes)) {}
  RingPlace place(std::size_t bytes) { return {reinterpret_cast<std::byte*>(memory.data()), bytes, &cursor.consumed}; }
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory;
  ReadCursor cursor;
  RingWriter writer;
  RingReader reader;
};

// Every word of such a payload looks like the header of an entry of lap `lap`.
std::vector<std::byte> treacherous_payload(std::size_t bytes, std::uint64_t lap) {
  std::vector<std::byte> payload(bytes);
  const std::uint64_t word = pack_header(lap, EntryKind::message, 24);
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = reinterpret_cast<const std::byte*>(&word)[i % 8];
  return payload;
}

void expect_entry(RingReader& reader, std::int64_t tag, const std::vector<std::byte>& payload) {
  RingReader::Entry entry;
  ASSERT_TRUE(reader.next(entry));
  ASSERT_EQ(entry.kind, EntryKind::message);
  core::WireHeader header;
  std::memcpy(&header, entry.bytes.data(), sizeof(header));
  ASSERT_EQ(header.tag, tag);
  ASSERT_TRUE(std::ranges::equal(entry.bytes.subspan(sizeof(header)), payload));
}

core::WireHeader tagged(std::int64_t tag) {
  core::WireHeader header;
  header.tag = tag;
  return header;
}

TEST(Layout, HeaderKeepsItsParts) {
  const std::uint64_t lap = (std::uint64_t{1} << 40) - 1;
  const std::uint64_t header = pack_header(lap, EntryKind::notify, max_entry_bytes);
  EXPECT_EQ(lap_of(header), lap);
  EXPECT_EQ(kind_of(header), EntryKind::notify);
  EXPECT_EQ(length_of(header), max_entry_bytes);
  EXPECT_EQ(slots_for(0), 1U);
  EXPECT_EQ(slots_for(56), 1U);
  EXPECT_EQ(slots_for(57), 2U);
}

TEST(Layout, EightByteMessageIsOneCacheLine) { EXPECT_EQ(slots_for(sizeof(core::WireHeader) + 8), 1U); }

TEST(Ring, EmptyRingIsNotReady) {
  Ring ring(4096);
  RingReader::Entry entry;
  EXPECT_FALSE(ring.reader.ready());
  EXPECT_FALSE(ring.reader.next(entry));
  EXPECT_FALSE(RingReader().ready());
}

// One at a time, through many laps: every size at every place.
TEST(Ring, EverySizeAtEveryPlace) {
  Ring ring(4096);
  std::int64_t tag = 0;
  for (std::size_t round = 0; round < 40; ++round) {
    for (std::size_t bytes = 0; bytes + sizeof(core::WireHeader) <= 1016; bytes += 1 + round % 7) {
      std::vector<std::byte> payload(bytes, static_cast<std::byte>(tag));
      ASSERT_TRUE(ring.writer.send(tagged(tag), payload));
      ASSERT_TRUE(ring.reader.ready());
      expect_entry(ring.reader, tag++, payload);
      ASSERT_FALSE(HasFatalFailure());
      ring.reader.release();
    }
  }
}

// Payload that stays behind never looks like an entry, whatever it is.
TEST(Ring, StaleDataIsNeverAnEntry) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Ring ring(4096);
    std::mt19937_64 random(seed);
    std::size_t slots = 0;
    for (std::int64_t tag = 0; tag < 3000; ++tag) {
      const std::uint64_t lap = slots / 64 + 1;
      const std::size_t bytes = random() % 3 == 0 ? random() % 990 : random() % 40;
      const auto payload = treacherous_payload(bytes, lap + random() % 2);
      ASSERT_TRUE(ring.writer.send(tagged(tag), payload));
      expect_entry(ring.reader, tag, payload);
      RingReader::Entry entry;
      ASSERT_FALSE(ring.reader.next(entry)) << "seed " << seed << ", message " << tag;
      ring.reader.release();
      slots += slots_for(bytes + sizeof(core::WireHeader));
    }
  }
}

TEST(Ring, FullRingRefusesAndKeepsWhatItHas) {
  Ring ring(4096);
  std::int64_t sent = 0;
  while (ring.writer.send(tagged(sent), {})) ++sent;
  EXPECT_EQ(sent, 63);  // one slot stays free
  EXPECT_FALSE(ring.writer.has_room());
  EXPECT_FALSE(ring.writer.notify(1));
  for (std::int64_t i = 0; i < sent; ++i) expect_entry(ring.reader, i, {});
  EXPECT_FALSE(ring.writer.has_room()) << "nothing has been given back yet";
  ring.reader.release();
  EXPECT_TRUE(ring.writer.has_room());
}

// The reader tells the writer rarely, yet the largest message fits whenever everything has been read.
TEST(Ring, LargestMessageAlwaysFitsIntoAReadRing) {
  const std::vector<std::byte> largest(1024 - header_bytes - sizeof(core::WireHeader));
  for (std::size_t before = 0; before < 200; ++before) {
    Ring ring(4096);
    for (std::size_t i = 0; i < before; ++i) {
      ASSERT_TRUE(ring.writer.send(tagged(0), {}));
      expect_entry(ring.reader, 0, {});
      ring.reader.release();
    }
    ASSERT_TRUE(ring.writer.send(tagged(7), largest)) << before;
    expect_entry(ring.reader, 7, largest);
  }
}

TEST(Ring, NotificationsKeepTheirPlace) {
  Ring ring(4096);
  ASSERT_TRUE(ring.writer.send(tagged(1), {}));
  ASSERT_TRUE(ring.writer.notify(0xdeadbeef));
  ASSERT_TRUE(ring.writer.send(tagged(2), {}));
  expect_entry(ring.reader, 1, {});
  RingReader::Entry entry;
  ASSERT_TRUE(ring.reader.next(entry));
  EXPECT_EQ(entry.kind, EntryKind::notify);
  std::uint32_t imm = 0;
  std::memcpy(&imm, entry.bytes.data(), sizeof(imm));
  EXPECT_EQ(imm, 0xdeadbeef);
  expect_entry(ring.reader, 2, {});
}

// Two threads, random sizes and payloads that try to look like entries.
TEST(Ring, ConcurrentFuzz) {
  for (const std::size_t ring_bytes : {4096UL, 16384UL, 65536UL}) {
    Ring ring(ring_bytes);
    constexpr std::int64_t count = 10000;
    const std::size_t largest = ring_bytes / 4 - header_bytes - sizeof(core::WireHeader);
    const auto size_of = [=](std::int64_t i) {
      const std::uint64_t random = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U >> 20;
      return random % 16 == 0 ? random / 16 % (largest + 1) : random / 16 % 100;
    };
    const auto payload_of = [&](std::int64_t i) {
      return treacherous_payload(size_of(i), static_cast<std::uint64_t>(i) * 64 / ring_bytes);
    };
    std::thread sender([&] {
      for (std::int64_t i = 0; i < count; ++i) {
        const auto payload = payload_of(i);
        while (!ring.writer.send(tagged(i), payload)) std::this_thread::yield();
      }
    });
    std::int64_t seen = 0;
    bool intact = true;
    while (seen < count) {
      RingReader::Entry entry;
      for (int burst = 0; burst < 8 && ring.reader.next(entry); ++burst) {
        core::WireHeader header;
        std::memcpy(&header, entry.bytes.data(), sizeof(header));
        intact =
            intact && header.tag == seen && std::ranges::equal(entry.bytes.subspan(sizeof(header)), payload_of(seen));
        ++seen;
      }
      ring.reader.release();
      if (seen % 64 == 0) std::this_thread::yield();
    }
    sender.join();
    EXPECT_TRUE(intact) << ring_bytes;
  }
}

}  // namespace
}  // namespace godwit::shm
