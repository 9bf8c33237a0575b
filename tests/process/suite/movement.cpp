// Collectives that move data: barrier, broadcast, allgather, gather, scatter, alltoall, in place or not.
#include "harness.hpp"

#include <algorithm>
#include <cstring>

namespace suite {
namespace {

using godwit::Collective;
using godwit::CollectiveCall;

std::uint64_t block_seed(int from, int to) { return static_cast<std::uint64_t>(from * 1000 + to + 1); }

std::span<std::byte> block(Guarded& buffer, int index, std::size_t bytes) {
  return buffer.data().subspan(static_cast<std::size_t>(index) * bytes, bytes);
}

class Movement : public testing::TestWithParam<std::size_t> {
 protected:
  std::size_t bytes = GetParam();
  std::size_t whole = bytes * static_cast<std::size_t>(size());

  static void call(Collective kind, const void* send, void* recv, std::size_t count, int root = 0) {
    world().collective({.collective = kind,
                        .send = send,
                        .recv = recv,
                        .count = count,
                        .type = godwit::DataType::uint8,
                        .op = godwit::sum,
                        .root = root});
  }
};
INSTANTIATE_TEST_SUITE_P(Bytes, Movement, testing::Values(0, 1, 3, 15, 16, 17, 4095, 4096, 4097, 70001, (1 << 20) + 1));

TEST_P(Movement, BroadcastFromEveryRoot) {
  for (int root = 0; root < size(); ++root) {
    Guarded data(bytes, 1);
    if (rank() == root) fill(data.data(), block_seed(root, 0));
    call(Collective::broadcast, data.data().data(), data.data().data(), bytes, root);
    ASSERT_EQ(first_wrong(data.data(), block_seed(root, 0)), std::nullopt) << "root " << root;
    ASSERT_TRUE(data.intact());
  }
}

TEST_P(Movement, BroadcastOutOfPlace) {
  const int root = size() - 1;
  Guarded out(bytes, 1), in(bytes, 3);
  fill(out.data(), 5);
  call(Collective::broadcast, rank() == root ? out.data().data() : nullptr, in.data().data(), bytes, root);
  EXPECT_EQ(first_wrong(in.data(), 5), std::nullopt);
  EXPECT_TRUE(in.intact() && out.intact());
}

TEST_P(Movement, Allgather) {
  for (const bool in_place : {false, true}) {
    Guarded out(bytes, 1), in(whole, 5);
    std::span<std::byte> mine = in_place ? block(in, rank(), bytes) : out.data();
    fill(mine, block_seed(rank(), 0));
    call(Collective::allgather, mine.data(), in.data().data(), bytes);
    for (int from = 0; from < size(); ++from)
      ASSERT_EQ(first_wrong(block(in, from, bytes), block_seed(from, 0)), std::nullopt) << "block " << from;
    ASSERT_TRUE(in.intact() && out.intact());
  }
}

TEST_P(Movement, GatherToEveryRoot) {
  for (int root = 0; root < size(); ++root) {
    const bool in_place = root % 2 == 1, is_root = rank() == root;
    Guarded out(bytes, 1), in(is_root ? whole : 0, 5);
    std::span<std::byte> mine = in_place && is_root ? block(in, rank(), bytes) : out.data();
    fill(mine, block_seed(rank(), root));
    call(Collective::gather, mine.data(), is_root ? in.data().data() : nullptr, bytes, root);
    for (int from = 0; is_root && from < size(); ++from)
      ASSERT_EQ(first_wrong(block(in, from, bytes), block_seed(from, root)), std::nullopt) << "block " << from;
    ASSERT_TRUE(in.intact() && out.intact());
  }
}

TEST_P(Movement, ScatterFromEveryRoot) {
  for (int root = 0; root < size(); ++root) {
    const bool in_place = root % 2 == 1, is_root = rank() == root;
    Guarded out(is_root ? whole : 0, 1), in(bytes, 5);
    for (int to = 0; is_root && to < size(); ++to) fill(block(out, to, bytes), block_seed(root, to));
    std::span<std::byte> mine = in_place && is_root ? block(out, rank(), bytes) : in.data();
    call(Collective::scatter, is_root ? out.data().data() : nullptr, mine.data(), bytes, root);
    ASSERT_EQ(first_wrong(mine, block_seed(root, rank())), std::nullopt) << "root " << root;
    ASSERT_TRUE(in.intact() && out.intact());
  }
}

TEST_P(Movement, Alltoall) {
  for (const bool in_place : {false, true}) {
    Guarded out(whole, 1), in(whole, 5);
    Guarded& source = in_place ? in : out;
    for (int to = 0; to < size(); ++to) fill(block(source, to, bytes), block_seed(rank(), to));
    call(Collective::alltoall, source.data().data(), in.data().data(), bytes);
    for (int from = 0; from < size(); ++from)
      ASSERT_EQ(first_wrong(block(in, from, bytes), block_seed(from, rank())), std::nullopt) << "block " << from;
    ASSERT_TRUE(in.intact() && out.intact());
  }
}

TEST(MovementTyped, AnyTriviallyCopyableElementTravels) {
  struct Particle {
    double x;
    int id;
    char kind;
  };
  Particle mine{};
  mine.x = rank() * 0.5;
  mine.id = rank();
  std::vector<Particle> all(static_cast<std::size_t>(size())), back(all.size());
  world().allgather(mine, all);
  world().alltoall(all, back);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].id, static_cast<int>(i));
    EXPECT_EQ(all[i].x, static_cast<double>(i) * 0.5);
    EXPECT_EQ(back[i].id, rank());
  }
  Particle root = mine;
  world().broadcast(root, size() - 1);
  EXPECT_EQ(root.id, size() - 1);
  int sum = -1;
  world().reduce(rank(), sum, godwit::sum, 0);
  EXPECT_EQ(sum, rank() == 0 ? size() * (size() - 1) / 2 : -1);
}

// Nobody leaves the barrier before the last has come: each rank in turn comes late, after it has told the others.
TEST(Barrier, NobodyLeavesBeforeTheLastComes) {
  godwit::shared_vector<std::int64_t> memory(1);
  godwit::Window<std::int64_t> window = world().window(memory);
  for (int late = 0; late < size(); ++late) {
    if (rank() == late) {
      for (int i = 0; i < 2000; ++i) context().progress();
      for (int to = 0; to < size(); ++to) window.fetch_add(1, to);
    }
    world().barrier();
    std::int64_t seen = window.fetch_add(0, rank());
    ASSERT_EQ(seen, late + 1);
    world().barrier();
  }
  window.free();
}

}  // namespace
}  // namespace suite
