#include "job.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/self_transport.hpp"
#include "shm/factory.hpp"
#include "verbs/options.hpp"
#include "verbs/transport.hpp"

namespace godwit::atomics_test {

namespace {

constexpr auto patience = std::chrono::seconds(60);
constexpr auto tick = std::chrono::milliseconds(20);

fake_verbs::DeviceSetup device_of(int host, Rank rank, Device device) {
  auto setup = fake_verbs::roce_device("rxe" + std::to_string(rank),
                                       "10.77." + std::to_string(host) + "." + std::to_string(rank + 1));
  setup.facts.atomics = device == Device::full;
  return setup;
}

}  // namespace

struct Job::Member {
  Member(std::map<std::string, std::string> wishes, const std::string& log_path)
      : log(core::LogLevel::info, log_path), services{options, log, clock, service} {
    options.add<core::CoreOptions>();
    options.add<shm::ShmOptions>();
    options.add<verbs::VerbsOptions>();
    options.load({}, {wishes.begin(), wishes.end()});
    clock.refresh();
    ticker = service.every(tick, [this] { clock.refresh(); });
  }
  ~Member() {
    worker.reset();
    ticker.reset();
    service.stop();
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  core::OptionSet options;
  core::Log log;
  core::Clock clock;
  core::ServiceThread service;
  core::Services services;
  std::shared_ptr<void> ticker;
  fake_verbs::Process* process = nullptr;
  std::vector<std::unique_ptr<core::Transport>> transports;  // until there is a worker
  std::unique_ptr<core::Worker> worker;
};

// Each rank has an adapter of its own, as if its processor's were the nearest.
Job::Job(std::vector<Seat> seats, std::map<std::string, std::string> wishes)
    : log_path_(::testing::TempDir() + "godwit-atomics-XXXXXX") {
  if (const int fd = ::mkstemp(log_path_.data()); fd >= 0) ::close(fd);
  static std::atomic<int> jobs{0};
  const std::string id = "atomics-" + std::to_string(::getpid()) + "-" + std::to_string(jobs++);
  for (Rank rank = 0; rank < static_cast<Rank>(seats.size()); ++rank) {
    const Seat& seat = seats[static_cast<std::size_t>(rank)];
    wishes["HOST_ID"] = "host" + std::to_string(seat.host);
    auto& member = *ranks_.emplace_back(std::make_unique<Member>(wishes, log_path_));
    core::Services& services = member.services;
    const std::string node = "node" + std::to_string(rank);
    member.transports.push_back(core::make_self_transport(rank, 64 * 1024));
    member.transports.push_back(shm::make_shm_transport(services, rank, id));
    if (seat.device != Device::none) {
      fabric.add_host(node, {device_of(seat.host, rank, seat.device)});
      member.process = &fabric.add_process(node);
      member.transports.push_back(std::make_unique<verbs::VerbsTransport>(services, rank, id, *member.process));
    }
    core::Card card = core::Card::of_this_process(wishes["HOST_ID"]);
    for (const auto& transport : member.transports) {
      const auto address = transport->address();
      if (!address.empty()) card.addresses.emplace_back(transport->name(), std::vector(address.begin(), address.end()));
    }
    directory_.cards.push_back(std::move(card));
  }
  for (Rank rank = 0; rank < size(); ++rank) {
    Member& member = *ranks_[static_cast<std::size_t>(rank)];
    core::JobInfo job;
    job.rank = rank;
    job.size = size();
    member.worker = std::make_unique<core::Worker>(member.services, directory_, job, ThreadMode::multiple,
                                                   std::move(member.transports), true);
  }
}

Job::~Job() {
  run([this](Rank rank) { worker(rank).shutdown(std::chrono::seconds(5)); });
  ranks_.clear();
  for (const std::string& defect : fabric.defects()) ADD_FAILURE() << "against the rules of verbs: " << defect;
  for (const std::string& leak : fabric.leaks()) ADD_FAILURE() << "left: " << leak;
  if (::testing::Test::HasFailure()) std::fputs(log().c_str(), stderr);
  ::unlink(log_path_.c_str());
}

core::Worker& Job::worker(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]->worker; }
fake_verbs::Process& Job::process(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]->process; }

std::string Job::log() const {
  std::ostringstream text;
  text << std::ifstream(log_path_).rdbuf();
  return text.str();
}

void Job::pass() {
  for (const auto& member : ranks_) {
    const auto held = member->worker->lock();
    member->worker->progress();
  }
}

bool Job::until(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    pass();
    std::this_thread::yield();
  }
  return true;
}

void Job::run(const std::function<void(Rank)>& work) {
  std::atomic<Rank> through{0};
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < size(); ++rank)
    threads.emplace_back([&, rank] {
      work(rank);
      ++through;
      while (through.load() < size()) {
        {
          const auto held = worker(rank).lock();
          worker(rank).progress();
        }
        std::this_thread::yield();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// --- words -----------------------------------------------------------------------------------------------------

Words::Words(Job& job, Rank owner, std::size_t count, AtomicsDomain wish) : job_(job), owner_(owner), words_(count) {
  core::Worker& worker = job.worker(owner);
  const auto held = worker.lock();
  entry_ = &worker.regions().add(std::as_writable_bytes(std::span(words_)), worker.transports(), wish);
  const core::RemoteRegion region = core::decode_key(core::encode_key(*entry_, owner));
  regions_.assign(static_cast<std::size_t>(job.size()), region);
  for (Rank rank = 0; rank < job.size(); ++rank) job.worker(rank).will_reach(region);
}

Words::~Words() {
  const auto held = job_.worker(owner_).lock();
  job_.worker(owner_).regions().remove(*entry_);
}

Operation* Words::start_add(Rank by, std::uint64_t operand, std::uint64_t* before, std::size_t index,
                            std::uint32_t width) {
  const auto held = job_.worker(by).lock();
  return job_.worker(by).post_atomic(Operation::Kind::fetch_add, seen_by(by), index * 8, width, operand, 0, before);
}

void Words::finish(Rank by, Operation* operation) {
  if (operation == nullptr) return;
  core::Worker& worker = job_.worker(by);
  worker.wait(*operation);
  const auto held = worker.lock();
  EXPECT_EQ(operation->status, ErrorCode::ok) << operation->detail;
  worker.release(*operation);
}

std::uint64_t Words::add(Rank by, std::uint64_t operand, std::size_t index, std::uint32_t width) {
  std::uint64_t before = 0;
  finish(by, start_add(by, operand, &before, index, width));
  return before;
}

std::uint64_t Words::swap(Rank by, std::uint64_t expected, std::uint64_t desired, std::size_t index) {
  std::uint64_t before = 0;
  Operation* operation = nullptr;
  {
    const auto held = job_.worker(by).lock();
    operation = job_.worker(by).post_atomic(Operation::Kind::compare_swap, seen_by(by), index * 8, 8, desired, expected,
                                            &before);
  }
  finish(by, operation);
  return before;
}

void Words::put(Rank by, std::uint64_t value, std::size_t index) {
  Operation* operation = nullptr;
  {
    const auto held = job_.worker(by).lock();
    operation = job_.worker(by).post_put(seen_by(by), std::as_bytes(std::span(&value, 1)), index * 8, std::nullopt);
  }
  finish(by, operation);
}

std::uint64_t Words::get(Rank by, std::size_t index) {
  std::uint64_t value = 0;
  Operation* operation = nullptr;
  {
    const auto held = job_.worker(by).lock();
    operation = job_.worker(by).post_get(seen_by(by), std::as_writable_bytes(std::span(&value, 1)), index * 8);
  }
  finish(by, operation);
  return value;
}

}  // namespace godwit::atomics_test
