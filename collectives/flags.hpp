// Flags: small collectives of one host, one-shot: every rank stores its contribution into a shared page (flag_page.hpp)
// and reads everybody's. A blocking call spins for a short while; what is not done then, and what is started without
// waiting, is an operation that polls of the worker complete, in the order of the calls.
//
// The page is made after the third such call of a communicator: the call is done when all ranks have agreed
// (flag_setup.hpp), and calls made meanwhile wait for that. Before it, and for good where the ranks cannot share a
// page, the calls go by schedules. Thread rule: the worker's.
#pragma once

#include "collectives/flag_page.hpp"
#include "collectives/flag_setup.hpp"
#include "core/worker.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace godwit::collectives {

class Flags final : public core::Poller {
 public:
  Flags(core::Worker& worker, core::Group& group, Schedules& schedules)
      : worker_(worker), group_(group), schedules_(schedules) {}
  ~Flags() = default;
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  /// Serves the call if it is one that was served lately: the short way. `wait`: the caller waits for it. nullopt: not
  /// served, and nothing has happened. Else as start().
  std::optional<core::Operation*> repeat(const CollectiveCall& call, bool wait) {
    if (stage_ != Stage::ready) return {};
    const Shape& known = shapes_[shape_index(call.collective)];
    if (!known.fits(call)) return {};
    return run(call, known, wait);
  }
  /// Might serve calls: there is, or may be, a page.
  bool possible() const noexcept { return stage_ != Stage::off; }
  /// A checked call of a problem to which direct_algorithm() applies. As start_collective().
  core::Operation* start(const CollectiveCall& call, const Problem& problem, bool wait);
  /// A call begins that goes by a schedule: for ranks that wait in a call by flags with the same number.
  void note_scheduled(std::uint64_t sequence) noexcept {
    if (stage_ == Stage::ready) FlagPage::store(page_.scheduled(group_.rank, sequence), sequence + 1);
  }
  /// Operations are under way.
  bool busy() const noexcept { return !queue_.empty(); }

  bool poll() override;
  bool arm() noexcept override;
  std::string words(const core::Operation& operation) const override;
  void stop() noexcept override;

 private:
  enum class Stage : std::uint8_t { counting, setting_up, ready, off };

  /// What of a call decides its signature, with that and what follows from it.
  struct Shape {
    Collective collective = Collective::barrier;
    DataType type = DataType::uint8;
    ReduceOp op = ReduceOp::sum;
    std::size_t count = 0;
    std::size_t bytes = 0;  // contribution of a rank
    std::uint32_t signature = 0;

    /// The same call again, on buffers that need no closer look.
    bool fits(const CollectiveCall& call) const noexcept;
  };
  /// A call that is not done.
  struct Entry {
    core::Operation* operation = nullptr;  // the caller's
    core::Operation* scheduled = nullptr;  // it goes by a schedule: that one's
    bool by_schedule = false;
    bool published = false;
    CollectiveCall call;
    Shape shape;
    std::uint64_t sequence = 0;
    std::int64_t looked_ms = 0;
  };

  static std::size_t shape_index(Collective collective) noexcept {
    return collective == Collective::barrier ? 0 : collective == Collective::allreduce ? 1 : 2;
  }

  // flags.cpp: the path of a call
  core::Operation* run(const CollectiveCall& call, const Shape& shape, bool wait);
  void publish(const CollectiveCall& call, const Shape& shape, std::uint64_t sequence);
  bool all_here() noexcept;
  bool spin();
  void take(const CollectiveCall& call, const Shape& shape);
  void wake_sleepers();
  // flags_queue.cpp: calls that take longer
  core::Operation& enqueue(const CollectiveCall& call, const Shape& shape, std::uint64_t sequence);
  void begin_setup(const CollectiveCall& call, const Shape& shape);
  bool set_up();
  bool step(Entry& entry);
  void end(Entry& entry);
  void look_closer(Entry& entry);
  bool look_for_mismatch(const Entry& entry, Rank rank);
  void look_for_loss(const Entry& entry, Rank rank, bool connect);

  core::Worker& worker_;
  core::Group& group_;
  Schedules& schedules_;
  Stage stage_ = Stage::counting;
  bool in_call_ = false;  // somebody up the stack spins: calls from handlers queue up
  bool fences_ = false;   // a header needs a full fence behind it
  int calls_ = 0;         // before the setup
  FlagPage page_;
  std::uint32_t turn_ = 0;    // of the last header that we stored
  std::uint64_t header_ = 0;  // that header
  int seen_ = 0;              // ranks 0..seen_-1 have stored the same
  std::array<Shape, 3> shapes_{};
  std::unique_ptr<FlagSetup> setup_;
  std::deque<Entry> queue_;
};

}  // namespace godwit::collectives
