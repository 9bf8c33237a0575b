#include "verbs_over_fake.hpp"

#include "fake_verbs/fabric.hpp"
#include "verbs/transport.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

namespace godwit::conformance {
namespace {

using fake_verbs::Fabric;
using fake_verbs::Process;

enum class Wire : std::uint8_t { infiniband, roce, two_rails };

std::vector<fake_verbs::DeviceSetup> devices_of(Wire wire, int rank) {
  if (wire == Wire::roce) return {fake_verbs::roce_device("rxe0", "10.77.0." + std::to_string(rank + 1))};
  const auto lid = static_cast<std::uint16_t>(rank + 1);
  std::vector<fake_verbs::DeviceSetup> devices{fake_verbs::infiniband_device("mlx5_0", lid)};
  if (wire == Wire::two_rails)
    devices.push_back(fake_verbs::infiniband_device("mlx5_1", static_cast<std::uint16_t>(lid + fake_hosts)));
  return devices;
}

class SharedFabric {
 public:
  explicit SharedFabric(Wire wire) {
    for (int rank = 0; rank < fake_hosts; ++rank) fabric_.add_host(host_of(rank), devices_of(wire, rank));
  }
  ~SharedFabric() {
    for (const std::string& defect : fabric_.defects()) ADD_FAILURE() << "against the rules of verbs: " << defect;
    for (const std::string& leak : fabric_.leaks()) ADD_FAILURE() << "left: " << leak;
    for (const Process* process : processes_) EXPECT_EQ(process->counters().not_ready, 0U) << "sent without a receive";
  }
  SharedFabric(const SharedFabric&) = delete;
  SharedFabric& operator=(const SharedFabric&) = delete;

  Process& add_process(int rank) { return *processes_.emplace_back(&fabric_.add_process(host_of(rank))); }

 private:
  static std::string host_of(int rank) { return "node" + std::to_string(rank); }

  Fabric fabric_;
  std::vector<Process*> processes_;
};

// A verbs transport that keeps its fabric.
class OverFabric final : public core::Transport {
 public:
  OverFabric(core::Services& services, Rank rank, std::string_view job, std::shared_ptr<SharedFabric> fabric)
      : fabric_(std::move(fabric)), inner_(services, rank, job, fabric_->add_process(rank)) {}

  std::string_view name() const noexcept override { return inner_.name(); }
  std::span<const std::byte> address() const noexcept override { return inner_.address(); }
  core::Reach reaches(const core::PeerInfo& peer) const override { return inner_.reaches(peer); }
  std::unique_ptr<core::Endpoint> open_endpoint(const core::PeerInfo& peer) override {
    return inner_.open_endpoint(peer);
  }
  core::Registration register_memory(std::span<std::byte> memory, MemoryKind kind) override {
    return inner_.register_memory(memory, kind);
  }
  void deregister_memory(const core::Registration& registration) noexcept override {
    inner_.deregister_memory(registration);
  }
  std::size_t poll(std::span<core::Completion> completions) noexcept override { return inner_.poll(completions); }
  bool arm() noexcept override { return inner_.arm(); }
  void disarm() noexcept override { inner_.disarm(); }
  int event_fd() const noexcept override { return inner_.event_fd(); }
  void shutdown() noexcept override { inner_.shutdown(); }

 private:
  std::shared_ptr<SharedFabric> fabric_;
  verbs::VerbsTransport inner_;
};

template <Wire wire>
std::unique_ptr<core::Transport> make_over(core::Services& services, Rank rank, std::string_view job) {
  static std::mutex mutex;
  static std::weak_ptr<SharedFabric> current;
  const std::lock_guard lock(mutex);
  auto fabric = current.lock();
  if (!fabric) current = fabric = std::make_shared<SharedFabric>(wire);
  return std::make_unique<OverFabric>(services, rank, job, std::move(fabric));
}

}  // namespace

std::unique_ptr<core::Transport> make_over_infiniband(core::Services& services, Rank rank, std::string_view job) {
  return make_over<Wire::infiniband>(services, rank, job);
}

std::unique_ptr<core::Transport> make_over_two_rails(core::Services& services, Rank rank, std::string_view job) {
  return make_over<Wire::two_rails>(services, rank, job);
}

std::unique_ptr<core::Transport> make_over_roce(core::Services& services, Rank rank, std::string_view job) {
  return make_over<Wire::roce>(services, rank, job);
}

}  // namespace godwit::conformance
