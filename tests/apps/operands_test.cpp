// The check of the *_perf programs against a plain model of every collective: what the model gives is accepted, and
// one planted error is found wherever it is.
#include "collective_perf/operands.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace godwit::apps {
namespace {

constexpr auto type = DataType::int32;
constexpr std::uint64_t seed = 9;

/// All ranks of a job in one place.
class Model {
 public:
  Model(Case what, int ranks) : what_(what), ranks_(ranks), shape_(what.shape(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      send_.emplace_back(what.bytes);
      recv_.emplace_back(what.bytes);
      operands_.push_back(place(what, rank, ranks, send_.back().data(), recv_.back().data()));
      write_input(what, rank, ranks, seed, operands_.back());
    }
  }

  void run() {
    std::vector<std::vector<std::int32_t>> in;
    for (int rank = 0; rank < ranks_; ++rank) {
      in.emplace_back(shape_.send);
      std::memcpy(in.back().data(), at(rank).send, shape_.send * 4);
    }
    for (int rank = 0; rank < ranks_; ++rank)
      for (std::size_t i = 0; i < shape_.recv; ++i) {
        const std::int32_t value = result(in, static_cast<std::size_t>(rank), i);
        std::memcpy(at(rank).recv + i * 4, &value, 4);
      }
  }

  std::size_t wrong(int rank) const {
    return count_wrong(what_, rank, ranks_, seed, operands_[static_cast<std::size_t>(rank)]);
  }
  const Operands& at(int rank) const { return operands_[static_cast<std::size_t>(rank)]; }
  const Shape& shape() const { return shape_; }

 private:
  std::int32_t result(const std::vector<std::vector<std::int32_t>>& in, std::size_t rank, std::size_t i) const {
    const auto n = static_cast<std::size_t>(ranks_);
    const auto root = static_cast<std::size_t>(what_.root);
    const std::size_t count = shape_.count;
    const auto total_of = [&](std::size_t index, std::size_t ranks) {
      std::int32_t value = 0;
      for (std::size_t from = 0; from < ranks; ++from) value += in[from][index];
      return value;
    };
    const auto total = [&](std::size_t index) { return total_of(index, n); };
    switch (what_.benchmark) {
      case Benchmark::all_reduce:
      case Benchmark::reduce: return total(i);
      case Benchmark::reduce_scatter: return total(rank * count + i);
      case Benchmark::scan: return total_of(i, rank + 1);
      case Benchmark::exscan: return total_of(i, rank);
      case Benchmark::broadcast: return in[root][i];
      case Benchmark::scatter: return in[root][rank * count + i];
      case Benchmark::sendrecv: return in[(rank + n - 1) % n][i];
      case Benchmark::all_gather:
      case Benchmark::gather: return in[i / count][i % count];
      case Benchmark::alltoall: return in[i / count][rank * count + i % count];
    }
    return 0;
  }

  Case what_;
  int ranks_;
  Shape shape_;
  std::vector<std::vector<std::byte>> send_, recv_;
  std::vector<Operands> operands_;
};

bool result_is_checked(Benchmark benchmark, int rank, int root) {
  if (benchmark == Benchmark::exscan) return rank > 0;
  return (benchmark != Benchmark::reduce && benchmark != Benchmark::gather) || rank == root;
}

class EveryBenchmark : public testing::TestWithParam<std::tuple<Benchmark, int, bool>> {
 protected:
  Case make_case() const {
    const auto [benchmark, ranks, in_place] = GetParam();
    return {.benchmark = benchmark, .bytes = 20000, .type = type, .root = ranks - 1, .in_place = in_place};
  }
};

TEST_P(EveryBenchmark, CorrectResultsAreAccepted) {
  const int ranks = std::get<1>(GetParam());
  Model model(make_case(), ranks);
  model.run();
  for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(model.wrong(rank), 0U) << "rank " << rank;
}

TEST_P(EveryBenchmark, AResultThatNobodyWroteIsWrong) {
  const auto [benchmark, ranks, in_place] = GetParam();
  if (ranks == 1 && benchmark == Benchmark::exscan) GTEST_SKIP() << "there is no result";
  Model model(make_case(), ranks);
  std::size_t wrong = 0;
  for (int rank = 0; rank < ranks; ++rank) wrong += model.wrong(rank);
  EXPECT_GT(wrong, model.shape().recv / 4);
}

TEST_P(EveryBenchmark, APlantedErrorIsFound) {
  const auto [benchmark, ranks, in_place] = GetParam();
  const Case what = make_case();
  Model model(what, ranks);
  model.run();
  for (int rank = 0; rank < ranks; ++rank) {
    if (!result_is_checked(benchmark, rank, what.root)) continue;
    for (std::size_t i : {std::size_t{0}, model.shape().recv / 2, model.shape().recv - 1}) {
      model.at(rank).recv[i * 4] ^= std::byte{4};
      EXPECT_EQ(model.wrong(rank), 1U) << "rank " << rank << " element " << i;
      model.at(rank).recv[i * 4] ^= std::byte{4};
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OutOfPlace, EveryBenchmark,
                         testing::Combine(testing::ValuesIn(all_benchmarks), testing::Values(1, 2, 3, 5),
                                          testing::Values(false)));
INSTANTIATE_TEST_SUITE_P(InPlace, EveryBenchmark,
                         testing::Combine(testing::Values(Benchmark::all_reduce, Benchmark::all_gather,
                                                          Benchmark::reduce_scatter, Benchmark::broadcast,
                                                          Benchmark::reduce, Benchmark::gather, Benchmark::scatter,
                                                          Benchmark::alltoall, Benchmark::scan, Benchmark::exscan),
                                          testing::Values(2, 3, 5), testing::Values(true)));

TEST(Operands, InPlacePositions) {
  std::vector<std::byte> send(4096), recv(4096);
  const auto placed = [&](Benchmark benchmark) {
    return place({.benchmark = benchmark, .bytes = 4096, .type = type, .in_place = true}, 2, 4, send.data(),
                 recv.data());
  };
  EXPECT_EQ(placed(Benchmark::all_reduce).send, placed(Benchmark::all_reduce).recv);
  EXPECT_EQ(placed(Benchmark::alltoall).send, placed(Benchmark::alltoall).recv);
  EXPECT_EQ(placed(Benchmark::all_gather).send, recv.data() + 2048);
  EXPECT_EQ(placed(Benchmark::all_gather).recv, recv.data());
  EXPECT_EQ(placed(Benchmark::reduce_scatter).send, send.data());
  EXPECT_EQ(placed(Benchmark::reduce_scatter).recv, send.data() + 2048);
}

TEST(Operands, NeutralDataStaysWhatItIs) {
  std::vector<std::byte> send(400), recv(400);
  Case what{.bytes = 400, .type = DataType::float32, .op = ReduceOp::prod};
  write_neutral(what, 2, {.send = send.data(), .recv = recv.data()});
  float value = 0;
  std::memcpy(&value, send.data() + 396, 4);
  EXPECT_EQ(value, 1.0F);
  what.op = ReduceOp::sum;
  write_neutral(what, 2, {.send = send.data(), .recv = recv.data()});
  std::memcpy(&value, send.data() + 396, 4);
  EXPECT_EQ(value, 0.0F);
}

}  // namespace
}  // namespace godwit::apps
