#include "collectives/execution.hpp"

#include "collectives/reductions.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace godwit::collectives {

void Execution::prepare(PlanCache::Entry& entry) {
  constexpr std::size_t cache_line = 64;
  entry_ = &entry;
  element_size_ = entry.problem.element_size();
  const std::size_t bytes = entry.plan.schedule().scratch_count * element_size_;
  if (bytes > scratch_capacity_) {
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(bytes + cache_line);
    scratch_capacity_ = bytes;
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(scratch_.get()) % cache_line;
    buffers_[2] = scratch_.get() + (misaligned == 0 ? 0 : cache_line - misaligned);
  }
  if (tickets_.size() < entry.plan.size()) tickets_.resize(entry.plan.size());
  frontier_.start(entry.plan);
}

core::Operation* Execution::start(const CollectiveCall& call, std::uint64_t sequence, std::uint32_t signature) {
  signature_ = signature;
  sequence_ = static_cast<Tag>(sequence);
  ++entry_->users;
  buffers_[0] = static_cast<std::byte*>(const_cast<void*>(call.send));  // only read, as the verifier shows
  buffers_[1] = static_cast<std::byte*>(call.recv);
  status_ = ErrorCode::ok;
  busy_ = true;
  const bool done = advance();
  busy_ = false;
  if (done && status_ == ErrorCode::ok) {
    end();
    return nullptr;
  }
  core::Operation& operation = make_operation();
  if (done) end();
  return &operation;
}

core::Operation& Execution::make_operation() {
  core::Operation& operation = worker_.new_operation(core::Operation::Kind::collective, &group_);
  operation.context = group_.context + 1;
  operation.tag = sequence_;
  operation.signature = signature_;
  operation.state = core::Operation::State::moving;
  operation.size = entry_->problem.bytes();
  operation.in_flight = 1;  // when the communicator is aborted, it must wait for end()
  operation_ = &operation;
  return operation;
}

void Execution::on_complete(core::Operation& operation, void* ticket) noexcept {
  const Ticket done = *static_cast<const Ticket*>(ticket);
  done.execution->finished(done.step, operation);
}

void Execution::finished(StepIndex step, core::Operation& operation) {
  const ErrorCode code = operation.status;
  const std::string detail = code == ErrorCode::ok ? std::string() : std::move(operation.detail);
  worker_.release(operation);
  frontier_.complete(step);
  const bool outermost = !std::exchange(busy_, true);  // a failure completes further steps within this call
  if (code != ErrorCode::ok) fail(step, code, detail);
  if (!outermost) return;
  const bool done = advance();
  busy_ = false;
  if (done) end();
}

/// Starts all steps that may start. True when nothing is left to do or to wait for.
bool Execution::advance() {
  for (StepIndex step; status_ == ErrorCode::ok && frontier_.pop(step);) perform(step);
  return status_ == ErrorCode::ok ? frontier_.done() : frontier_.running() == 0;
}

void Execution::perform(StepIndex index) {
  const Step& step = entry_->plan.step(index);
  const Problem& problem = entry_->problem;
  const std::size_t bytes = step.count * element_size_;
  tickets_[index] = {this, index};
  const core::Continuation then{&on_complete, &tickets_[index]};
  core::Operation* pending = nullptr;
  switch (step.kind) {
    case StepKind::send:
      pending = worker_.post_send({.group = &group_,
                                   .data = {at(step.left), bytes},
                                   .to = step.peer,
                                   .tag = sequence_,
                                   .synchronous = false,
                                   .collective = true,
                                   .signature = signature_,
                                   .then = then});
      break;
    case StepKind::recv:
      pending = worker_.post_recv({.group = &group_,
                                   .data = {at(step.target), bytes},
                                   .from = step.peer,
                                   .tag = sequence_,
                                   .collective = true,
                                   .signature = signature_,
                                   .then = then});
      break;
    case StepKind::reduce:
      reduce(problem.type, problem.op, at(step.left), at(step.right), at(step.target), step.count);
      break;
    case StepKind::copy: std::memcpy(at(step.target), at(step.left), bytes); break;
    case StepKind::scale: scale(problem.type, at(step.target), step.count, problem.size); break;
  }
  if (pending == nullptr) frontier_.complete(index);
}

void Execution::fail(StepIndex index, ErrorCode code, const std::string& detail) {
  if (status_ != ErrorCode::ok) return;
  status_ = code;
  detail_ = detail;
  if (group_.broken) return;  // all members have been told already
  // Equal signatures and a message that is too long: two hashes are equal by chance.
  if (code == ErrorCode::truncated) status_ = ErrorCode::mismatch;
  detail_ = fmt::format("collective #{} of communicator {}, {}, {}: {}", sequence_, group_.context / 2,
                        to_string(entry_->problem), to_string(entry_->plan.step(index)), detail);
  worker_.abort_group(group_, status_, detail_);
}

void Execution::end() {
  --entry_->users;
  core::Operation* const operation = std::exchange(operation_, nullptr);
  const ErrorCode code = status_;
  std::string detail = std::move(detail_);
  detail_.clear();
  core::Worker& worker = worker_;
  owner_.recycle(*this);  // *this may be gone, or run another collective, from here on
  if (operation == nullptr) return;
  operation->in_flight = 0;
  operation->failing = false;
  worker.complete(*operation, code, std::move(detail));
}

}  // namespace godwit::collectives
