#include "pmi/launch_server.hpp"

#include "pmi/environment.hpp"
#include "pmi/pmix_calls.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>

#include <pmix_server.h>
#include <unistd.h>

namespace godwit::pmi {

struct LaunchServer::Impl {
  Impl(int size, AbortHandler handler) : ranks(size), on_abort(std::move(handler)), connected(size) {}
  void start(const std::string& directory);
  void register_job(const std::string& host);
  void register_rank(Rank rank);
  std::string name_space() const { return job.nspace; }

  const int ranks;
  std::mutex mutex;  // guards on_abort
  AbortHandler on_abort;
  std::vector<std::atomic<bool>> connected;
  pmix_proc_t job{};  // all ranks
};

namespace {

constexpr std::chrono::seconds call_limit{30};  // the server is in this process: only a defect takes longer

template <class Call>
void call_server(std::string_view what, Call&& call) {
  pmix_check(pmix_wait(Reply::Clock::now() + call_limit, call), "godwit run", what);
}

// ---- What the ranks' requests arrive at. All of these run on PMIx's thread and must not wait.

LaunchServer::Impl& server_of(void* object) { return *static_cast<LaunchServer::Impl*>(object); }

pmix_status_t rank_connected(const pmix_proc_t* who, void* object, pmix_info_t*, std::size_t, pmix_op_cbfunc_t, void*) {
  auto& server = server_of(object);
  if (who->rank < static_cast<pmix_rank_t>(server.ranks)) server.connected[who->rank] = true;
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t rank_finalized(const pmix_proc_t* who, void* object, pmix_op_cbfunc_t, void*) {
  auto& server = server_of(object);
  if (who->rank < static_cast<pmix_rank_t>(server.ranks)) server.connected[who->rank] = false;
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t rank_aborts(const pmix_proc_t* who, void* object, int status, const char* message, pmix_proc_t*,
                          std::size_t, pmix_op_cbfunc_t, void*) {
  auto& server = server_of(object);
  const std::lock_guard lock(server.mutex);
  if (server.on_abort) server.on_abort(static_cast<Rank>(who->rank), status, message != nullptr ? message : "");
  return PMIX_OPERATION_SUCCEEDED;
}

/// There is one node: what its ranks have put is all there is.
pmix_status_t fence(const pmix_proc_t*, std::size_t, const pmix_info_t*, std::size_t, char* data, std::size_t size,
                    pmix_modex_cbfunc_t done, void* done_data) {
  done(
      PMIX_SUCCESS, data, size, done_data, [](void* memory) { std::free(memory); }, data);
  return PMIX_SUCCESS;
}

/// Asked for a rank of another node; there is none.
pmix_status_t direct_modex(const pmix_proc_t*, const pmix_info_t*, std::size_t, pmix_modex_cbfunc_t, void*) {
  return PMIX_ERR_NOT_FOUND;
}

// Without these two, ranks cannot register for death events.
pmix_status_t register_events(pmix_status_t*, std::size_t, const pmix_info_t*, std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}
pmix_status_t deregister_events(pmix_status_t*, std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_server_module_t server_module() {
  pmix_server_module_t module{};
  module.client_connected2 = rank_connected;
  module.client_finalized = rank_finalized;
  module.abort = rank_aborts;
  module.fence_nb = fence;
  module.direct_modex = direct_modex;
  module.register_events = register_events;
  module.deregister_events = deregister_events;
  return module;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

/// PMIx's compressed form of a list, from one of its generators.
std::string generated(const char* what, pmix_status_t (*generate)(const char*, char**), const std::string& list) {
  char* text = nullptr;
  pmix_check(generate(list.c_str(), &text), "godwit run", what);
  std::string result = text;
  std::free(text);
  return result;
}

InfoList rank_data(Rank rank, const std::string& host) {
  InfoList data;
  const auto number = static_cast<pmix_rank_t>(rank);
  data.add_rank(PMIX_RANK, number);  // must be the first
  data.add_rank(PMIX_GLOBAL_RANK, number);
  data.add_u16(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(rank));
  data.add_u16(PMIX_NODE_RANK, static_cast<std::uint16_t>(rank));
  data.add_u32(PMIX_NODEID, 0);
  data.add_u32(PMIX_APPNUM, 0);
  data.add_text(PMIX_HOSTNAME, host);
  return data;
}

}  // namespace

void LaunchServer::Impl::start(const std::string& directory) {
  PMIX_LOAD_PROCID(&job, fmt::format("{}{}", run_namespace_prefix, getpid()).c_str(), PMIX_RANK_WILDCARD);
  static pmix_server_module_t module = server_module();  // PMIx keeps the pointer
  const std::string host = host_name();
  InfoList info;
  info.add_text(PMIX_SERVER_TMPDIR, directory);
  info.add_text(PMIX_SYSTEM_TMPDIR, directory);
  info.add_text(PMIX_HOSTNAME, host);
  pmix_check(PMIx_server_init(&module, info.data(), info.size()), "godwit run", "PMIx_server_init");
  register_job(host);
  for (Rank rank = 0; rank < ranks; ++rank) register_rank(rank);
}

void LaunchServer::Impl::register_job(const std::string& host) {
  std::string list;
  for (Rank rank = 0; rank < ranks; ++rank) list += fmt::format("{}{}", rank == 0 ? "" : ",", rank);
  const auto count = static_cast<std::uint32_t>(ranks);
  InfoList info;
  for (const char* key : {PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_MAX_PROCS, PMIX_LOCAL_SIZE, PMIX_NODE_SIZE})
    info.add_u32(key, count);
  info.add_u32(PMIX_NUM_NODES, 1);
  info.add_text(PMIX_LOCAL_PEERS, list);
  info.add_rank(PMIX_LOCALLDR, 0);
  const std::string nodes = generated("PMIx_generate_regex", PMIx_generate_regex, host);
  const std::string processes = generated("PMIx_generate_ppn", PMIx_generate_ppn, list);
  info.add_raw(PMIX_NODE_MAP, nodes.c_str(), PMIX_REGEX);
  info.add_raw(PMIX_PROC_MAP, processes.c_str(), PMIX_REGEX);
  info.add_text(PMIX_JOBID, name_space());
  info.add_text(PMIX_NODE_LIST, host);
  for (Rank rank = 0; rank < ranks; ++rank) info.add_list(PMIX_PROC_DATA, rank_data(rank, host));
  call_server("PMIx_server_register_nspace", [&](pmix_op_cbfunc_t done, void* data) {
    return PMIx_server_register_nspace(job.nspace, ranks, info.data(), info.size(), done, data);
  });
}

void LaunchServer::Impl::register_rank(Rank rank) {
  const pmix_proc_t process = pmix_process(job.nspace, static_cast<pmix_rank_t>(rank));
  call_server("PMIx_server_register_client", [&](pmix_op_cbfunc_t done, void* data) {
    return PMIx_server_register_client(&process, getuid(), getgid(), this, done, data);
  });
}

LaunchServer::LaunchServer(int ranks, const std::string& directory, AbortHandler on_abort)
    : impl_(new Impl(ranks, std::move(on_abort))) {
  impl_->start(directory);
}

// Not PMIx_server_finalize: that of PMIx 4.2 crashes when a rank has died with a request open. So PMIx's thread may
// still make upcalls while this process ends, and their object stays. All files are in the caller's directory.
LaunchServer::~LaunchServer() {
  const std::lock_guard lock(impl_->mutex);
  impl_->on_abort = nullptr;
}

std::vector<std::string> LaunchServer::environment_for(Rank rank, const std::vector<std::string>& environment) {
  const pmix_proc_t process = pmix_process(impl_->job.nspace, static_cast<pmix_rank_t>(rank));
  char** list = nullptr;
  pmix_status_t status = PMIX_SUCCESS;
  for (const std::string& entry : environment)
    if (status == PMIX_SUCCESS) PMIX_ARGV_APPEND(status, list, entry.c_str());
  if (status == PMIX_SUCCESS) status = PMIx_server_setup_fork(&process, &list);
  std::vector<std::string> result;
  for (char** entry = list; entry != nullptr && *entry != nullptr; ++entry) result.emplace_back(*entry);
  PMIX_ARGV_FREE(list);
  pmix_check(status, "godwit run", fmt::format("PMIx_server_setup_fork of rank {}", rank));
  return result;
}

bool LaunchServer::is_connected(Rank rank) const { return impl_->connected[rank]; }

void LaunchServer::announce_death(Rank rank, int exit_code) {
  struct Notice {
    pmix_proc_t process{};
    InfoList info;
  };
  auto notice = std::make_unique<Notice>();
  notice->process = pmix_process(impl_->job.nspace, static_cast<pmix_rank_t>(rank));
  notice->info.add_raw(PMIX_EVENT_AFFECTED_PROC, &notice->process, PMIX_PROC);
  notice->info.add_int(PMIX_EXIT_CODE, exit_code);
  const auto sent = [](pmix_status_t, void* data) { delete static_cast<Notice*>(data); };
  const pmix_status_t status = PMIx_Notify_event(PMIX_ERR_PROC_ABORTED, &notice->process, PMIX_RANGE_NAMESPACE,
                                                 notice->info.data(), notice->info.size(), sent, notice.get());
  if (status == PMIX_SUCCESS)
    static_cast<void>(notice.release());  // `sent` deletes it
  else if (status != PMIX_OPERATION_SUCCEEDED)
    fmt::print(stderr, "godwit run: the death of rank {} could not be announced: {}\n", rank, pmix_words(status));
}

}  // namespace godwit::pmi
