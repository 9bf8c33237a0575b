#include "common/shape.hpp"

#include <gtest/gtest.h>

namespace godwit::apps {
namespace {

TEST(Shape, ProgramNames) {
  for (Benchmark benchmark : all_benchmarks) EXPECT_EQ(benchmark_of_program(program_name(benchmark)), benchmark);
  EXPECT_EQ(benchmark_of_program("/opt/godwit/bin/all_gather_perf"), Benchmark::all_gather);
  EXPECT_EQ(benchmark_of_program("./sendrecv_perf"), Benchmark::sendrecv);
  EXPECT_EQ(benchmark_of_program("all_reduce"), std::nullopt);
  EXPECT_EQ(benchmark_of_program(""), std::nullopt);
}

TEST(Shape, UndividedCollectivesUseTheWholeSize) {
  for (Benchmark benchmark : {Benchmark::all_reduce, Benchmark::broadcast, Benchmark::reduce, Benchmark::sendrecv}) {
    const Shape shape = shape_of(benchmark, 1003, 4, 3);
    EXPECT_EQ(shape.count, 250U);
    EXPECT_EQ(shape.send, 250U);
    EXPECT_EQ(shape.recv, 250U);
    EXPECT_EQ(shape.send_index + shape.recv_index, 0U);
  }
}

TEST(Shape, DividedPartsAreMultiplesOf16Bytes) {
  // 1000 floats among 3 ranks: 333, rounded down to 332 (1328 bytes).
  const Shape gathered = shape_of(Benchmark::all_gather, 4000, 4, 3);
  EXPECT_EQ(gathered.count, 332U);
  EXPECT_EQ(gathered.send, 332U);
  EXPECT_EQ(gathered.recv, 996U);
  EXPECT_EQ(gathered.send_index, 332U);
  EXPECT_EQ(gathered.recv_index, 0U);
  const Shape scattered = shape_of(Benchmark::reduce_scatter, 4000, 4, 3);
  EXPECT_EQ(scattered.count, 332U);
  EXPECT_EQ(scattered.send, 996U);
  EXPECT_EQ(scattered.recv, 332U);
  EXPECT_EQ(scattered.send_index, 0U);
  EXPECT_EQ(scattered.recv_index, 332U);
  const Shape exchanged = shape_of(Benchmark::alltoall, 4000, 4, 3);
  EXPECT_EQ(exchanged.count, 332U);
  EXPECT_EQ(exchanged.send, 996U);
  EXPECT_EQ(exchanged.recv, 996U);
  EXPECT_EQ(exchanged.send_index + exchanged.recv_index, 0U);
  EXPECT_EQ(shape_of(Benchmark::gather, 100, 1, 2).count, 48U);
  EXPECT_EQ(shape_of(Benchmark::scatter, 100, 8, 2).count, 6U);
}

TEST(Shape, TooSmallToDivideIsEmpty) {
  const Shape shape = shape_of(Benchmark::all_gather, 8, 4, 4);
  EXPECT_EQ(shape.count, 0U);
  EXPECT_EQ(shape.recv, 0U);
}

TEST(Shape, NothingExceedsTheSize) {
  for (Benchmark benchmark : all_benchmarks)
    for (std::size_t bytes : {0, 1, 15, 16, 17, 4095, 4097, 1048583})
      for (std::size_t element : {1, 2, 4, 8})
        for (std::size_t ranks : {1, 2, 3, 7, 16}) {
          const Shape shape = shape_of(benchmark, bytes, element, ranks);
          EXPECT_LE(shape.send * element, bytes);
          EXPECT_LE(shape.recv * element, bytes);
        }
}

TEST(Shape, BusFactors) {
  EXPECT_DOUBLE_EQ(bus_factor(Benchmark::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(Benchmark::all_reduce, 1), 0);
  for (Benchmark divided :
       {Benchmark::all_gather, Benchmark::reduce_scatter, Benchmark::gather, Benchmark::scatter, Benchmark::alltoall})
    EXPECT_DOUBLE_EQ(bus_factor(divided, 4), 0.75);
  for (Benchmark whole : {Benchmark::broadcast, Benchmark::reduce, Benchmark::sendrecv})
    EXPECT_DOUBLE_EQ(bus_factor(whole, 4), 1);
}

TEST(Shape, AlgorithmBandwidth) {
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(2'000'000'000, 0.5), 4);
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(8, 0), 0);
}

}  // namespace
}  // namespace godwit::apps
