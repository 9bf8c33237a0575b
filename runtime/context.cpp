// Start-up and leave: options -> log -> bootstrap -> transports -> cards -> worker -> world.
#include <godwit/context.hpp>
#include <godwit/version.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "core/aliases.hpp"
#include "core/core_options.hpp"
#include "pmi/select.hpp"
#include "runtime/context_state.hpp"
#include "runtime/placement.hpp"
#include "runtime/transports.hpp"
#include "shm/options.hpp"
#include "verbs/aliases.hpp"
#include "verbs/options.hpp"

namespace godwit {

namespace runtime {

namespace {

// How often the coarse clock goes on while nobody waits.
constexpr std::chrono::milliseconds tick{100};

}  // namespace

std::unique_ptr<core::OptionSet> make_options() {
  auto options = std::make_unique<core::OptionSet>();
  options->add<core::CoreOptions>();
  options->add<shm::ShmOptions>();
  options->add<verbs::VerbsOptions>();
  core::add_nccl_aliases(*options);
  verbs::add_nccl_aliases(*options);
  return options;
}

std::shared_ptr<detail::ContextState> make_context(std::unique_ptr<core::Bootstrap> bootstrap,
                                                   const ContextOptions& wishes) {
  auto options = make_options();
  auto notes = options->load(core::OptionSet::environment(), wishes.set);
  const auto& core_options = options->get<core::CoreOptions>();
  auto log = std::make_unique<core::Log>(core_options.log_level(), *core_options.debug_file);
  return std::make_shared<detail::ContextState>(std::move(options), std::move(notes), std::move(bootstrap),
                                                std::move(log), wishes.threads);
}

}  // namespace runtime

namespace detail {

ContextState::ContextState(std::unique_ptr<core::OptionSet> loaded, std::vector<core::OptionNote> notes,
                           std::unique_ptr<core::Bootstrap> joined, std::unique_ptr<core::Log> opened_log,
                           ThreadMode mode)
    : options(std::move(loaded)),
      log(std::move(opened_log)),
      services{*options, *log, clock, service},
      bootstrap(std::move(joined)),
      directory(*bootstrap) {
  clock.refresh();
  clock_ticker = service.every(runtime::tick, [this] { clock.refresh(); });
  const core::JobInfo& job = bootstrap->job();
  core::Card card = core::Card::of_this_process(*options->get<core::CoreOptions>().host_id);
  log->set_rank(job.rank, card.host_name);
  if (job.rank == 0)
    for (const core::OptionNote& note : notes)
      log->write(note.warning ? core::LogLevel::warn : core::LogLevel::info, note.text);

  runtime::OpenedTransports opened = runtime::open_transports(services, job.rank, job.id);
  for (const auto& transport : opened.transports) {
    const auto address = transport->address();
    if (!address.empty()) card.addresses.emplace_back(transport->name(), std::vector(address.begin(), address.end()));
  }
  bootstrap->exchange(card.encode());
  const bool oversubscribed = runtime::is_oversubscribed(job, card, directory);
  if (oversubscribed) log->debug("more ranks than CPUs on this host: waits yield early and sleep");
  runtime::warn_of_shared_cores(*log, job, card, directory);
  worker = std::make_unique<core::Worker>(services, directory, job, mode, std::move(opened.transports), oversubscribed,
                                          std::move(opened.missing));
  std::vector<Rank> everyone(static_cast<std::size_t>(job.size));
  std::iota(everyone.begin(), everyone.end(), 0);
  world = std::make_unique<CommunicatorState>(*this, nullptr, core::make_group(0, job.rank, std::move(everyone)));
  signal_watch = runtime::watch_state_signal(*this);
  // Last: whoever throws above leaves no handler behind. Deaths reported before are not lost.
  bootstrap->on_failure([this](Rank rank, std::string reason) {
    log->info("the launcher reports: {}", reason);
    worker->notify_peer_failed(rank, std::move(reason));
  });
}

ContextState::~ContextState() {
  leave();
  world.reset();
  worker.reset();
  service.stop();
}

void ContextState::leave() noexcept {
  if (left) return;
  left = true;
  signal_watch.reset();
  if (worker) worker->shutdown(std::chrono::seconds(5));
  // They may own handles of this context.
  if (worker) worker->drop_handlers();
  bootstrap->on_failure({});
  bootstrap->finalize();
}

}  // namespace detail

Context::Context(ContextOptions wishes) {
  auto options = runtime::make_options();
  auto notes = options->load(core::OptionSet::environment(), wishes.set);
  const auto& core_options = options->get<core::CoreOptions>();
  auto log = std::make_unique<core::Log>(core_options.log_level(), *core_options.debug_file);
  auto bootstrap = pmi::select_bootstrap(*options, *log);
  state_ = std::make_shared<detail::ContextState>(std::move(options), std::move(notes), std::move(bootstrap),
                                                  std::move(log), wishes.threads);
}

Context& Context::operator=(Context&& other) noexcept {
  if (this != &other) {
    if (state_) state_->leave();
    state_ = std::move(other.state_);
  }
  return *this;
}

Context::~Context() {
  if (state_) state_->leave();
}

Communicator Context::world() const {
  return Communicator(std::shared_ptr<detail::CommunicatorState>(state_, state_->world.get()));
}

Rank Context::rank() const { return state_->bootstrap->job().rank; }
int Context::size() const { return state_->bootstrap->job().size; }

std::string Context::banner() const {
  const core::JobInfo& job = state_->bootstrap->job();
  int hosts = job.node_count;
  if (hosts == 0) {
    // The launcher does not say: count kernels among the cards.
    std::vector<std::uint64_t> boots;
    for (Rank rank = 0; rank < job.size; ++rank) boots.push_back(state_->directory.card(rank).host.boot);
    std::sort(boots.begin(), boots.end());
    hosts = static_cast<int>(std::unique(boots.begin(), boots.end()) - boots.begin());
  }
  const std::string_view full = version();
  return fmt::format("godwit {}: {} {} on {} {} via {}", full.substr(0, full.rfind('.')), job.size,
                     job.size == 1 ? "rank" : "ranks", hosts, hosts == 1 ? "host" : "hosts", job.via);
}

void Context::progress() {
  const auto held = state_->worker->lock();
  state_->worker->progress();
}

void Context::abort(int exit_status, std::string_view reason) {
  if (exit_status < 1 || exit_status > 255) exit_status = 1;
  state_->log->error("aborts the job with status {}: {}", exit_status, reason);
  state_->bootstrap->abort(exit_status, reason);
  ::_exit(exit_status);
}

std::string_view version() noexcept { return GODWIT_VERSION; }

}  // namespace godwit
