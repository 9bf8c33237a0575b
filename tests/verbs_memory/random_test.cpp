// Random histories: whatever happens, an acquired region reaches the pages that are there now, and the counts are
// right.
#include "memory_api.hpp"

#include <random>

namespace godwit::verbs {
namespace {

class History {
 public:
  explicit History(unsigned seed)
      : random_(seed), stage_(pages, {{"IB_REG_CACHE_ENTRIES", "12"}, {"IB_REG_CACHE_BYTES", "512K"}}), used_(pages) {
    stage_.api.refuse = [this](std::uintptr_t, std::size_t) {
      const int draw = number(0, 99);
      return draw == 0 ? ENOMEM : draw == 1 ? EFAULT : 0;
    };
  }

  void step() {
    const int draw = number(0, 99);
    if (draw < 36)
      acquire();
    else if (draw < 73)
      let_go(held_, [this](const Registered* each) { stage_.registrar->release(each); });
    else if (draw < 76)
      register_region();
    else if (draw < 80)
      let_go(registered_, [this](const Registered* each) { stage_.registrar->deregister_region(*each); });
    else if (draw < 97)
      change_pages();
    else if (draw < 98)
      stage_.registrar->flush();
    else
      stage_.registrar->collect();
    check();
  }

  void finish() {
    while (!held_.empty()) let_go(held_, [this](const Registered* each) { stage_.registrar->release(each); });
    while (!registered_.empty())
      let_go(registered_, [this](const Registered* each) { stage_.registrar->deregister_region(*each); });
    check();
    EXPECT_GT(stage_.statistics().hits, 100U);
    EXPECT_GT(stage_.statistics().merges, 10U);
    EXPECT_GT(stage_.statistics().evictions, 10U);
    EXPECT_GT(stage_.statistics().invalidations, 10U);
    stage_.registrar->flush();
    stage_.registrar->collect();
    EXPECT_EQ(stage_.api.live(), 0U);
  }

 private:
  struct Use {
    const Registered* registered;
    std::span<std::byte> memory;
    std::size_t first, last;
  };
  static constexpr std::size_t pages = 96;

  int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  Use some_memory() {
    const auto offset = static_cast<std::size_t>(number(0, pages * page - 1));
    const auto bytes = std::min(static_cast<std::size_t>(number(1, 12 * page)), pages * page - offset);
    return {nullptr, Pages::bytes(offset, bytes), offset / page, (offset + bytes - 1) / page};
  }
  bool mapped(const Use& use) const {
    for (std::size_t index = use.first; index <= use.last; ++index)
      if (!stage_.pages.mapped(index)) return false;
    return true;
  }
  void hold(std::vector<Use>& list, const Use& use) {
    for (std::size_t index = use.first; index <= use.last; ++index) ++used_[index];
    list.push_back(use);
  }
  template <class F>
  void let_go(std::vector<Use>& list, F&& end) {
    if (list.empty()) return;
    std::swap(list[static_cast<std::size_t>(number(0, static_cast<int>(list.size()) - 1))], list.back());
    for (std::size_t index = list.back().first; index <= list.back().last; ++index) --used_[index];
    end(list.back().registered);
    list.pop_back();
  }

  void acquire() {
    Use use = some_memory();
    use.registered = stage_.registrar->acquire(use.memory, number(0, 9) == 0 ? IBV_ACCESS_LOCAL_WRITE : full_access);
    if (use.registered == nullptr) {
      ASSERT_FALSE(stage_.registrar->failure().message().empty());
      return;
    }
    if (!mapped(use)) {  // only possible by an explicit region or not at all
      stage_.registrar->release(use.registered);
      FAIL() << "registered memory that is not mapped";
    }
    ASSERT_TRUE(stage_.api.reaches(*use.registered, use.memory));
    hold(held_, use);
  }
  void register_region() {
    Use use = some_memory();
    if (!mapped(use)) return;
    try {
      use.registered = &stage_.registrar->register_region(use.memory, full_access);
    } catch (const Error&) {
      return;
    }
    ASSERT_TRUE(stage_.api.reaches(*use.registered, use.memory));
    ASSERT_EQ(use.registered->memory.data(), use.memory.data());
    hold(registered_, use);
  }
  // A program does not unmap what is in a transfer or registered. Neighbours on other pages are fair game.
  void change_pages() {
    const auto first = static_cast<std::size_t>(number(0, pages - 1));
    const std::size_t last = std::min(first + static_cast<std::size_t>(number(0, 5)), pages - 1);
    for (std::size_t index = first; index <= last; ++index) {
      if (used_[index] != 0) return;
    }
    stage_.unmap(first, last - first + 1);
    if (number(0, 4) != 0) stage_.map(first, last - first + 1);
  }
  void check() {
    const RegistrationStatistics& statistics = stage_.statistics();
    ASSERT_EQ(stage_.api.live(), statistics.regions());
    ASSERT_TRUE(held_.size() > 12 || statistics.cached_regions <= 12 + held_.size());
    if (held_.empty()) {
      ASSERT_LE(statistics.cached_regions, 12U);
      ASSERT_LE(statistics.cached_bytes, 512U * 1024);
    }
    for (const auto* list : {&held_, &registered_})
      for (const Use& each : *list) ASSERT_TRUE(stage_.api.reaches(*each.registered, each.memory));
  }

  std::mt19937 random_;
  Stage stage_;
  std::vector<unsigned> used_;  // by page
  std::vector<Use> held_, registered_;
};

TEST(RegistrarRandom, HistoriesAreRight) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    History history(seed);
    for (int step = 0; step < 10'000 && !testing::Test::HasFailure(); ++step) history.step();
    if (testing::Test::HasFailure()) return;
    history.finish();
  }
}

}  // namespace
}  // namespace godwit::verbs
