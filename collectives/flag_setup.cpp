#include "collectives/flag_setup.hpp"

#include "core/fence.hpp"
#include "core/segments.hpp"

#include <godwit/memory.hpp>

#include <new>
#include <utility>

namespace godwit::collectives {

namespace {

constexpr Rank owner = 0;

CollectiveCall key_call(RemoteKey& key) {
  return {.collective = Collective::broadcast,
          .send = key.bytes.data(),
          .recv = key.bytes.data(),
          .count = key.bytes.size(),
          .type = DataType::uint8,
          .root = owner};
}

CollectiveCall vote_call(std::array<std::uint8_t, 2>& votes) {
  return {.collective = Collective::allreduce,
          .send = votes.data(),
          .recv = votes.data(),
          .count = votes.size(),
          .type = DataType::uint8,
          .op = ReduceOp::min};
}

}  // namespace

FlagSetup::FlagSetup(core::Worker& worker, core::Group& group, Schedules& schedules)
    : worker_(worker), group_(group), schedules_(schedules) {}

FlagSetup::~FlagSetup() {
  if (step_ != nullptr) worker_.abandon(*step_);
  if (region_ != nullptr) worker_.regions().remove(*region_);
}

void FlagSetup::start() {
  if (group_.rank == owner) make_page();
  stage_ = Stage::key;
  step_ = schedules_.run(key_call(key_), {});
  const CollectiveCall agreement = vote_call(votes_);
  agreement_ = worker_.begin_collective(group_, agreement, core::signature_of(agreement));
}

// Without a page the key stays empty, which tells all.
void FlagSetup::make_page() {
  try {
    std::byte* const memory = core::segments::allocate_alone(FlagPage::bytes(group_.size()));
    page_ = std::shared_ptr<std::byte>(memory, [](std::byte* given) { godwit::deallocate(given); });
    region_ = &worker_.regions().add({memory, FlagPage::bytes(group_.size())}, worker_.transports());
    key_ = core::encode_key(*region_, worker_.rank());
  } catch (const Error& error) {
    page_.reset();
    worker_.services().log.info("communicator {}: no page for small collectives: {}", group_.context / 2, error.what());
  }
}

bool FlagSetup::advance() {
  if (stage_ == Stage::key && take_step()) stage_ = Stage::mapping;
  if (stage_ == Stage::mapping && map()) agree();
  if (stage_ == Stage::agreement && take_step()) {
    stage_ = Stage::over;
    if (page_ && group_.rank == owner) core::segments::close_file(page_.get());
  }
  return stage_ == Stage::over;
}

// A step that fails has broken the communicator: the setup is over.
bool FlagSetup::take_step() {
  if (step_ == nullptr) return true;
  if (!step_->done()) return false;
  core::Operation& step = *std::exchange(step_, nullptr);
  const bool ok = step.status == ErrorCode::ok;
  worker_.release(step);
  if (!ok) {
    votes_ = {};
    stage_ = Stage::over;
  }
  return ok;
}

bool FlagSetup::map() {
  if (page_) return true;  // our own
  if (key_ == RemoteKey{}) return true;
  if (!target_) target_ = core::decode_key(key_);
  const core::Mapping mapping = worker_.map(*target_);
  if (mapping.state == core::Mapping::State::later) return false;
  page_ = mapping.memory;
  return true;
}

void FlagSetup::agree() {
  votes_ = {static_cast<std::uint8_t>(page_ ? 1 : 0), static_cast<std::uint8_t>(core::membarrier_works() ? 1 : 0)};
  stage_ = Stage::agreement;
  step_ = schedules_.run(vote_call(votes_), agreement_);
}

}  // namespace godwit::collectives
