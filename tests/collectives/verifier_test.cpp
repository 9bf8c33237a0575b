// The verifier finds planted errors.
#include "collectives/verifier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace godwit::collectives {
namespace {

const Algorithm& find(Collective collective, std::string_view name) { return *find_algorithm(collective, name); }

Problem allreduce(int size, std::uint64_t count = 8) {
  return {.collective = Collective::allreduce, .size = size, .count = count, .type = DataType::int32};
}

std::vector<Schedule> build_all(const Algorithm& algorithm, const Problem& problem) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < problem.size; ++rank) schedules.push_back(build(algorithm, problem, rank));
  return schedules;
}

std::string verdict(const Problem& problem, const std::vector<Schedule>& schedules) {
  return verify(std::vector<Problem>(static_cast<std::size_t>(problem.size), problem), schedules);
}

Step& find_step(Schedule& schedule, StepKind kind, int number = 0) {
  for (Step& step : schedule.steps)
    if (step.kind == kind && number-- == 0) return step;
  throw std::logic_error("no such step");
}

/// A schedule of given steps, each after all before it.
Schedule chain(std::vector<Step> steps, std::uint64_t scratch = 0) {
  Schedule schedule{.steps = std::move(steps), .dependencies = {}, .scratch_count = scratch};
  for (StepIndex i = 0; i < schedule.steps.size(); ++i) {
    schedule.steps[i].first_dependency = static_cast<StepIndex>(schedule.dependencies.size());
    schedule.steps[i].dependency_count = i == 0 ? 0 : 1;
    if (i > 0) schedule.dependencies.push_back(i - 1);
  }
  return schedule;
}

Step send(Rank to, Place from, std::uint64_t count) {
  return {.kind = StepKind::send, .peer = to, .count = count, .left = from, .right = {}, .target = {}};
}
Step recv(Rank from, Place into, std::uint64_t count) {
  return {.kind = StepKind::recv, .peer = from, .count = count, .left = {}, .right = {}, .target = into};
}
Step copy(Place from, Place to, std::uint64_t count) {
  return {.kind = StepKind::copy, .peer = -1, .count = count, .left = from, .right = {}, .target = to};
}

constexpr Place in{Buffer::input, 0}, out{Buffer::output, 0}, scratch{Buffer::scratch, 0};

class PlantedError : public testing::Test {
 protected:
  Problem problem = allreduce(4);
  std::vector<Schedule> schedules = build_all(find(Collective::allreduce, "recursive_doubling"), problem);
  void expect(const std::string& words) {
    const std::string found = verdict(problem, schedules);
    EXPECT_NE(found.find(words), std::string::npos) << "verdict: " << found;
  }
};

TEST_F(PlantedError, NoneIsFoundInTheOriginal) { EXPECT_EQ(verdict(problem, schedules), ""); }

TEST_F(PlantedError, DroppedReduction) {
  Step& second = find_step(schedules[1], StepKind::reduce, 1);
  second.kind = StepKind::copy;
  second.left = second.target;
  expect("holds the data of {0..1}");
}

TEST_F(PlantedError, DoubledContribution) {
  Step& second = find_step(schedules[2], StepKind::reduce, 1);
  second.right = second.left;
  expect("comes in twice");
}

TEST_F(PlantedError, WrongPositions) {
  Step& first = find_step(schedules[3], StepKind::reduce);
  first.left.offset += 1;
  first.count -= 1;
  expect("different positions");
}

TEST_F(PlantedError, DroppedSendIsADeadlock) {
  schedules[0].steps.pop_back();  // its last reduction
  schedules[0].steps.pop_back();  // and the receive before it
  expect("deadlock");
}

TEST_F(PlantedError, SwappedSends) {
  // Rank 0 sends its second message where the first belongs: what it holds then is not there yet.
  std::swap(find_step(schedules[0], StepKind::send, 0).peer, find_step(schedules[0], StepKind::send, 1).peer);
  EXPECT_NE(verdict(problem, schedules), "");
}

TEST_F(PlantedError, LengthsThatDiffer) {
  find_step(schedules[3], StepKind::send).count -= 1;
  expect("8 elements expected");
}

TEST_F(PlantedError, OutOfBounds) {
  find_step(schedules[2], StepKind::recv).target.offset += 1;
  schedules[2].scratch_count = problem.count;
  expect("leaves its buffer");
}

TEST_F(PlantedError, Race) {
  // The reduction into the output no longer waits for the send from it.
  for (StepIndex& dependency : schedules[1].dependencies)
    if (schedules[1].steps[dependency].kind == StepKind::send) dependency = 0;
  expect("race: overwrites what step");
}

TEST_F(PlantedError, DependencyOnALaterStep) {
  schedules[0].dependencies[0] = static_cast<StepIndex>(schedules[0].steps.size());
  expect("which is not before it");
}

TEST_F(PlantedError, DependencyListTooShort) {
  schedules[0].dependencies.pop_back();
  expect("outside the list");
}

TEST_F(PlantedError, OverwrittenInput) {
  find_step(schedules[0], StepKind::reduce).target = in;
  expect("overwrites the input");
}

TEST_F(PlantedError, MessageToItself) {
  find_step(schedules[0], StepKind::send).peer = 0;
  expect("is not another rank");
}

TEST(Verifier, FindsReadsOfUnwrittenMemory) {
  const Problem problem{.collective = Collective::broadcast, .size = 1, .count = 2};
  const std::string found = verdict(problem, {chain({copy(scratch, out, 2)}, 2)});
  EXPECT_NE(found.find("nobody has written"), std::string::npos) << found;
}

TEST(Verifier, FindsDeadlocksOfRendezvous) {
  // Both send before they receive: right only with buffering.
  const Problem problem{.collective = Collective::allgather, .size = 2, .count = 1};
  const auto rank = [](int r) {
    const Place own{Buffer::output, static_cast<std::uint64_t>(r)},
        other{Buffer::output, static_cast<std::uint64_t>(1 - r)};
    return chain({copy(in, own, 1), send(1 - r, in, 1), recv(1 - r, other, 1)});
  };
  EXPECT_NE(verdict(problem, {rank(0), rank(1)}).find("deadlock: rank 0 waits in send"), std::string::npos);
  // Without the order of the two it is right.
  std::vector<Schedule> free{rank(0), rank(1)};
  for (Schedule& schedule : free)
    for (Step& step : schedule.steps) step.dependency_count = 0;
  EXPECT_EQ(verdict(problem, free), "");
}

TEST(Verifier, FindsWhatIsMissingInTheOutput) {
  Problem problem = allreduce(1);
  EXPECT_NE(verdict(problem, {Schedule{}}), "");
  problem.op = ReduceOp::avg;
  EXPECT_NE(verdict(problem, {chain({copy(in, out, problem.count)})}).find("not the average"), std::string::npos);
}

TEST(Verifier, FindsASecondScaling) {
  Problem problem = allreduce(1);
  problem.op = ReduceOp::avg;
  const Step scale{.kind = StepKind::scale, .peer = -1, .count = 8, .left = out, .right = {}, .target = out};
  EXPECT_EQ(verdict(problem, {chain({copy(in, out, 8), scale})}), "");
  EXPECT_NE(verdict(problem, {chain({copy(in, out, 8), scale, scale})}).find("second time"), std::string::npos);
}

TEST(Verifier, FindsBarriersThatLeaveSomebodyBehind) {
  const Problem problem{.collective = Collective::barrier, .size = 3};
  const auto ring = [](int r) { return chain({send((r + 1) % 3, out, 0)}); };
  std::vector<Schedule> schedules{ring(0), ring(1), ring(2)};
  for (int r = 0; r < 3; ++r) {
    schedules[static_cast<std::size_t>(r)].steps.push_back(recv((r + 2) % 3, out, 0));  // no dependency
  }
  EXPECT_NE(verdict(problem, schedules).find("having heard of {0, 2} only"), std::string::npos)
      << verdict(problem, schedules);
}

TEST(Verifier, FindsReductionsOutOfOrder) {
  Problem problem = allreduce(4);
  problem.commutative = false;
  EXPECT_NE(verify(find(Collective::allreduce, "ring"), problem).find("not in the order of ranks"), std::string::npos);
}

}  // namespace
}  // namespace godwit::collectives
