#include "collectives/collective.hpp"

#include "collectives/arguments.hpp"
#include "collectives/execution.hpp"
#include "collectives/flags.hpp"
#include "collectives/links.hpp"
#include "collectives/selector.hpp"
#include "collectives/surroundings.hpp"
#include "core/text.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace godwit::collectives {

namespace {

constexpr std::size_t cached_plans = 32;

SelectionRules rules_of(const core::CoreOptions& options) {
  SelectionRules rules = SelectionRules::parse(*options.algo, options.algo.origin());
  if (*options.tree_threshold) rules.set_tree_threshold((*options.tree_threshold)->value);
  return rules;
}

std::optional<Tuning> tuning_of(const core::CoreOptions& options) {
  const std::string& path = *options.tune_file;
  return path.empty() ? std::optional<Tuning>() : Tuning::load(path);
}

}  // namespace

class CollectiveContext::State final : public Execution::Owner, public Schedules {
 public:
  State(core::Worker& worker, core::Group& group)
      : worker_(worker),
        group_(group),
        rules_(rules_of(worker.options())),
        tuning_(tuning_of(worker.options())),
        plans_(cached_plans),
        flags_(worker, group, *this) {}

  core::Operation* start(const CollectiveCall& call, bool wait) {
    if (const auto served = flags_.repeat(call, wait)) [[likely]]
      return *served;
    look_around();
    const Problem problem = check_arguments(call, group_.rank, group_.size(), surroundings_->shape);
    if (flags_.possible() && selector_->direct(problem) != nullptr) return flags_.start(call, problem, wait);
    return run(call, problem, {}, *selector_);
  }

  core::Operation* start(const UnevenCall& call) {
    look_around();
    BlockTable sends, receives;
    const Problem problem = check_arguments(call, group_.rank, group_.size(), surroundings_->shape, sends, receives);
    // What the records of all ranks must have in common.
    CollectiveCall common = call;
    common.count = 0;
    std::uint64_t lengths = 0;
    const Collective kind = without_v(call.collective);
    if (kind == Collective::allgather || kind == Collective::reduce_scatter) {
      const BlockTable& table = kind == Collective::allgather ? receives : sends;
      common.count = table.total();
      const auto bytes = std::as_bytes(std::span(table.counts));
      lengths = core::hash64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    return run(common, problem, {}, *selector_, lengths);
  }

  // For the flags: before there is a page, whatever the rules say of schedules.
  core::Operation* run(const CollectiveCall& call, std::optional<std::uint64_t> sequence) override {
    const Problem problem = check_arguments(call, group_.rank, group_.size(), surroundings_->shape);
    const bool none_allowed = selector_->candidates(problem).empty();
    return run(call, problem, sequence, none_allowed ? *unruled_ : *selector_);
  }

  void flags_idle() noexcept override { end_if_orphaned(); }

  void recycle(Execution& execution) noexcept override {
    idle_.push_back(&execution);
    end_if_orphaned();
  }

  /// The communicator is gone. Deletes this, now or when the last collective has ended.
  void orphan() noexcept {
    orphaned_ = true;
    end_if_orphaned();
  }

  std::vector<std::string_view> algorithms_for(const CollectiveCall& call) {
    look_around();
    const Problem problem = check_arguments(call, group_.rank, group_.size(), surroundings_->shape);
    std::vector<std::string_view> names;
    if (flags_.possible() && selector_->direct(problem) != nullptr) return names;
    for (const Selector::Candidate& candidate : selector_->candidates(problem))
      names.push_back(candidate.algorithm->name);
    return names;
  }

  void allow(std::string_view rules) {
    rules_ = SelectionRules::parse(rules, "rules");
    tuning_.reset();
    tables_ = 0;
  }

  NodeShape shape() {
    look_around();
    return surroundings_->shape;
  }

  std::string table() {
    look_around();
    return collectives::selection_table(*selector_, group_.size(), surroundings_->shape);
  }

 private:
  /// At the first collective only: reading cards may ask the launcher.
  void look_around() {
    if (surroundings_) return;
    surroundings_ = collectives::look_around(group_.size(), [this](Rank rank) -> const core::Card& {
      return worker_.directory().card(group_.to_world(rank));
    });
    const double crowding = surroundings_->crowding;
    selector_.emplace(rules_, link_in_node(crowding), link_between_nodes(crowding), tuning_ ? &*tuning_ : nullptr);
    unruled_.emplace(SelectionRules{}, link_in_node(crowding), link_between_nodes(crowding));
  }

  core::Operation* run(const CollectiveCall& call, const Problem& problem, std::optional<std::uint64_t> sequence,
                       const Selector& selector, std::uint64_t lengths = 0) {
    PlanCache::Entry& entry =
        plans_.get(problem, group_.rank, [&](const Problem& p) -> const Algorithm& { return choose(p, selector); });
    if (idle_.empty()) {
      all_.push_back(std::make_unique<Execution>(worker_, group_, *this));
      idle_.reserve(all_.size());  // recycle() may not throw
      idle_.push_back(all_.back().get());
    }
    Execution& execution = *idle_.back();
    execution.prepare(entry);
    idle_.pop_back();
    const std::uint32_t signature = core::signature_of(call, lengths ^ tables_);
    const std::uint64_t number = sequence ? *sequence : worker_.begin_collective(group_, call, signature);
    flags_.note_scheduled(number);
    return execution.start(call, number, signature);
  }

  const Algorithm& choose(const Problem& problem, const Selector& selector) const {
    const Algorithm& algorithm = selector.choose(problem);
    worker_.services().log.debug("communicator {}: {} by {}", group_.context / 2, to_string(problem), algorithm.name);
    return algorithm;
  }

  void end_if_orphaned() noexcept {
    if (orphaned_ && idle_.size() == all_.size() && !flags_.busy()) delete this;
  }

  core::Worker& worker_;
  core::Group& group_;
  SelectionRules rules_;
  std::optional<Tuning> tuning_;
  std::uint64_t tables_ = tuning_ ? tuning_->hash() : 0;  // ranks with other tables do not run what we run
  PlanCache plans_;
  std::optional<Surroundings> surroundings_;
  std::optional<Selector> selector_;
  std::optional<Selector> unruled_;
  std::vector<std::unique_ptr<Execution>> all_;
  std::vector<Execution*> idle_;
  bool orphaned_ = false;
  Flags flags_;
};

CollectiveContext::CollectiveContext(core::Worker& worker, core::Group& group)
    : state_(std::make_unique<State>(worker, group)) {}

CollectiveContext::~CollectiveContext() { state_.release()->orphan(); }

std::vector<std::string_view> CollectiveContext::algorithms_for(const CollectiveCall& call) const {
  return state_->algorithms_for(call);
}

void CollectiveContext::allow(std::string_view rules) { state_->allow(rules); }

NodeShape CollectiveContext::shape() const { return state_->shape(); }

std::string CollectiveContext::selection_table() const { return state_->table(); }

core::Operation* start_collective(core::Worker&, CollectiveContext& context, const CollectiveCall& call, bool wait) {
  return context.state_->start(call, wait);
}

core::Operation* start_collective(core::Worker&, CollectiveContext& context, const UnevenCall& call) {
  return context.state_->start(call);
}

}  // namespace godwit::collectives
