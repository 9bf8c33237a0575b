#include "collectives/builder.hpp"

#include <algorithm>

namespace godwit::collectives {

namespace {

constexpr std::size_t receive_slots = 4;

}  // namespace

ScheduleBuilder::ScheduleBuilder(const Problem& problem, Rank rank) : problem_(problem), rank_(rank) {}

Place ScheduleBuilder::scratch(std::uint64_t count) noexcept {
  const Place place{Buffer::scratch, schedule_.scratch_count};
  schedule_.scratch_count += count;
  return place;
}

StepIndex ScheduleBuilder::send(Rank to, Place from, std::uint64_t count, std::initializer_list<StepIndex> after) {
  return add({.kind = StepKind::send, .peer = to, .count = count, .left = from}, after);
}

StepIndex ScheduleBuilder::recv(Rank from, Place into, std::uint64_t count, std::initializer_list<StepIndex> after) {
  return add({.kind = StepKind::recv, .peer = from, .count = count, .target = into}, after);
}

void ScheduleBuilder::reduce(Place left, Place right, Place target, std::uint64_t count) {
  if (count != 0) add({.kind = StepKind::reduce, .count = count, .left = left, .right = right, .target = target}, {});
}

void ScheduleBuilder::copy(Place from, Place to, std::uint64_t count) {
  if (count != 0 && canonical(problem_, rank_, from) != canonical(problem_, rank_, to))
    add({.kind = StepKind::copy, .count = count, .left = from, .target = to}, {});
}

void ScheduleBuilder::finish(Place place, std::uint64_t count) {
  if (problem_.op == ReduceOp::avg && count != 0)
    add({.kind = StepKind::scale, .count = count, .left = place, .target = place}, {});
}

void ScheduleBuilder::send_chunks(Rank to, Place from, std::uint64_t count) {
  for_each_chunk(problem_, count, [&](std::uint64_t offset, std::uint64_t n) { send(to, from + offset, n); });
}

void ScheduleBuilder::recv_chunks(Rank from, Place into, std::uint64_t count) {
  for_each_chunk(problem_, count, [&](std::uint64_t offset, std::uint64_t n) { recv(from, into + offset, n); });
}

void ScheduleBuilder::recv_reduce(Rank from, Place mine, Place target, std::uint64_t count, Order order) {
  for_each_chunk(problem_, count, [&](std::uint64_t offset, std::uint64_t n) {
    const Place slot = next_slot();
    recv(from, slot, n);
    if (order == Order::mine_first)
      reduce(mine + offset, slot, target + offset, n);
    else
      reduce(slot, mine + offset, target + offset, n);
  });
}

Place ScheduleBuilder::next_slot() {
  if (slots_.size() < receive_slots) slots_.push_back(scratch(std::min(problem_.chunk(), problem_.vector_count())));
  return slots_[slots_used_++ % receive_slots];
}

StepIndex ScheduleBuilder::add(Step step, std::initializer_list<StepIndex> after) {
  const auto index = static_cast<StepIndex>(schedule_.steps.size());
  found_.assign(after);
  if (step.reads_left()) note_read(step.left, step.count, index);
  if (step.reads_right()) note_read(step.right, step.count, index);
  if (step.writes()) note_write(step.target, step.count, index);
  std::sort(found_.begin(), found_.end());
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  if (!found_.empty() && found_.back() == index) found_.pop_back();  // it reads what it writes
  step.first_dependency = static_cast<StepIndex>(schedule_.dependencies.size());
  step.dependency_count = static_cast<StepIndex>(found_.size());
  schedule_.dependencies.insert(schedule_.dependencies.end(), found_.begin(), found_.end());
  schedule_.steps.push_back(step);
  return index;
}

void ScheduleBuilder::note_read(Place place, std::uint64_t count, StepIndex step) {
  place = canonical(problem_, rank_, place);
  if (place.buffer == Buffer::input && !problem_.in_place) return;  // nobody ever writes it
  accesses(place).for_each(place.offset, place.offset + count, [&](auto, auto, Access& access) {
    if (access.writer >= 0) found_.push_back(static_cast<StepIndex>(access.writer));
    access.readers.push_back(step);
  });
}

void ScheduleBuilder::note_write(Place place, std::uint64_t count, StepIndex step) {
  place = canonical(problem_, rank_, place);
  accesses(place).look(place.offset, place.offset + count, [&](auto, auto, const Access& access) {
    if (access.writer >= 0) found_.push_back(static_cast<StepIndex>(access.writer));
    found_.insert(found_.end(), access.readers.begin(), access.readers.end());
  });
  accesses(place).assign(place.offset, place.offset + count, Access{step, {}});
}

}  // namespace godwit::collectives
