/* mpi_perf: what `godwit perf` and all_reduce_perf measure, for any MPI: the same loops, clock, buffers and numbers of
 * iterations. Plain C; bench.py compiles it with the mpicc of each MPI. Rank 0 prints a line of JSON for each size.
 *
 *   mpi_perf latency|bandwidth|allreduce [--sizes 0:20000,8:20000,1048576:200] [--window 64] [--thread-multiple]
 *
 * A size is followed by the number of iterations (bandwidth: messages); a tenth of them run untimed before. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { max_points = 256, max_samples = 1 << 20, page = 4096, max_window = 1024 };

struct point {
  size_t size;
  long iterations;
};

struct run {
  const char* test;
  struct point points[max_points];
  int points_given, window, thread_multiple, rank, ranks;
  char *out, *in;
};

static void fail(const struct run* run, const char* format, const char* word) {
  if (run->rank == 0) {
    fprintf(stderr, "mpi_perf: ");
    fprintf(stderr, format, word);
    fprintf(stderr, "\n");
  }
  MPI_Barrier(MPI_COMM_WORLD); /* no rank ends before the words are out */
  MPI_Finalize();
  exit(2);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Page-aligned memory of malloc, every page touched. */
static char* buffer(size_t bytes) {
  size_t whole = (bytes / page + 1) * page;
  char* memory = aligned_alloc(page, whole);
  if (!memory) {
    fprintf(stderr, "mpi_perf: no memory for a buffer of %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(memory, 0, whole);
  return memory;
}

static void ping_pong(struct run* run, size_t size) {
  int bytes = (int)size;
  if (run->rank == 0) {
    MPI_Send(run->out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(run->in, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(run->in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(run->out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

static void allreduce(struct run* run, size_t size) {
  MPI_Allreduce(run->out, run->in, (int)(size / sizeof(double)), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Times `iterations` calls of `once`. The clock is looked at after batches of at least 20 us, so that it costs next to
 * nothing; a sample is the mean of a batch. `share`: 0.5 for half round trips. */
static void time_calls(struct run* run, struct point point, void (*once)(struct run*, size_t), double share) {
  static double samples[max_samples];
  long done = 0, in_sample = 0, batch = 1, taken = 0;
  for (long i = 0; i < point.iterations / 10; ++i) once(run, point.size);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = now(), sample_begin = begin, time = begin;
  while (done < point.iterations) {
    if (batch > point.iterations - done) batch = point.iterations - done;
    for (long i = 0; i < batch; ++i) once(run, point.size);
    done += batch;
    in_sample += batch;
    time = now();
    batch = in_sample;
    if (time - sample_begin < 20e-6) continue;
    if (taken < max_samples) samples[taken++] = (time - sample_begin) / (double)in_sample;
    sample_begin = time;
    in_sample = 0;
  }
  double average = (time - begin) / (double)point.iterations, mean_of_ranks = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Reduce(&average, &mean_of_ranks, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (taken == 0) samples[taken++] = average;
  qsort(samples, (size_t)taken, sizeof(double), ascending);
  double median = taken % 2 ? samples[taken / 2] : (samples[taken / 2 - 1] + samples[taken / 2]) / 2;
  if (run->rank == 0)
    printf(
        "{\"size\": %zu, \"iterations\": %ld, \"min_us\": %.5f, \"median_us\": %.5f, \"average_us\": %.5f, "
        "\"mean_of_ranks_us\": %.5f}\n",
        point.size, point.iterations, samples[0] * share * 1e6, median * share * 1e6, average * share * 1e6,
        mean_of_ranks * share * 1e6 / run->ranks);
}

static void exchange_window(struct run* run, size_t size) {
  static MPI_Request requests[max_window];
  for (int i = 0; i < run->window; ++i)
    if (run->rank == 0)
      MPI_Isend(run->out, (int)size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(run->in, (int)size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitall(run->window, requests, MPI_STATUSES_IGNORE);
}

/* After the last message the receiver answers: messages do not overtake. */
static void finish_windows(struct run* run) {
  if (run->rank == 0)
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

static void bandwidth(struct run* run, struct point point) {
  long windows = (point.iterations + run->window - 1) / run->window, warmup = (windows + 9) / 10;
  for (long i = 0; i < warmup; ++i) exchange_window(run, point.size);
  finish_windows(run);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = now();
  for (long i = 0; i < windows; ++i) exchange_window(run, point.size);
  finish_windows(run);
  double rate = (double)(windows * run->window) / (now() - begin);
  if (run->rank == 0)
    printf("{\"size\": %zu, \"messages\": %ld, \"messages_per_s\": %.1f, \"bandwidth_MBps\": %.3f}\n", point.size,
           windows * run->window, rate, rate * (double)point.size / 1e6);
}

static void parse_sizes(struct run* run, char* text) {
  for (char* word = strtok(text, ","); word; word = strtok(NULL, ",")) {
    char* end = NULL;
    struct point point = {strtoull(word, &end, 10), 1000};
    if (end != word && *end == ':') point.iterations = strtol(end + 1, &end, 10);
    if (*end != '\0' || point.iterations < 1) fail(run, "--sizes %s: write SIZE:ITERATIONS, such as 8:1000", word);
    if (point.size > INT32_MAX) fail(run, "--sizes %s: at most 2147483647 bytes", word);
    if (run->points_given == max_points) fail(run, "--sizes %s: too many sizes", word);
    run->points[run->points_given++] = point;
  }
}

static void parse(struct run* run, int argc, char** argv) {
  char usual[] = "8:1000";
  run->test = argc > 1 ? argv[1] : "";
  run->window = 64;
  for (int i = 2; i < argc; ++i)
    if (strcmp(argv[i], "--sizes") == 0 && i + 1 < argc)
      parse_sizes(run, argv[++i]);
    else if (strcmp(argv[i], "--window") == 0 && i + 1 < argc)
      run->window = atoi(argv[++i]);
    else if (strcmp(argv[i], "--thread-multiple") != 0)
      fail(run, "%s: no such flag; there are --sizes, --window, --thread-multiple", argv[i]);
  if (run->points_given == 0) parse_sizes(run, usual);
  if (run->window < 1 || run->window > max_window) fail(run, "--window: from 1 to 1024%s", "");
}

static void start(struct run* run, int* argc, char*** argv) {
  int wanted = MPI_THREAD_SINGLE, provided = 0;
  for (int i = 1; i < *argc; ++i)
    if (strcmp((*argv)[i], "--thread-multiple") == 0) wanted = MPI_THREAD_MULTIPLE;
  MPI_Init_thread(argc, argv, wanted, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &run->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &run->ranks);
  if (provided < wanted) fail(run, "%s is not supported by this MPI", "MPI_THREAD_MULTIPLE");
  run->thread_multiple = wanted == MPI_THREAD_MULTIPLE;
}

static void print_head(const struct run* run) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);
  for (char* c = library; *c; ++c)
    if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ') *c = ' ';
  if (run->rank == 0)
    printf("{\"library\": \"%s\", \"test\": \"%s\", \"ranks\": %d, \"thread_multiple\": %s}\n", library, run->test,
           run->ranks, run->thread_multiple ? "true" : "false");
}

int main(int argc, char** argv) {
  static struct run run;
  start(&run, &argc, &argv);
  parse(&run, argc, argv);
  int is_latency = strcmp(run.test, "latency") == 0, is_bandwidth = strcmp(run.test, "bandwidth") == 0;
  if (!is_latency && !is_bandwidth && strcmp(run.test, "allreduce") != 0)
    fail(&run, "'%s': no such test; there are latency, bandwidth, allreduce", run.test);
  if ((is_latency || is_bandwidth) && run.ranks != 2) fail(&run, "%s needs two ranks", run.test);

  size_t largest = 0;
  for (int i = 0; i < run.points_given; ++i)
    if (run.points[i].size > largest) largest = run.points[i].size;
  run.out = buffer(largest);
  run.in = buffer(largest);
  print_head(&run);
  for (int i = 0; i < run.points_given; ++i) {
    if (is_bandwidth)
      bandwidth(&run, run.points[i]);
    else
      time_calls(&run, run.points[i], is_latency ? ping_pong : allreduce, is_latency ? 0.5 : 1);
    fflush(stdout);
  }
  free(run.out);
  free(run.in);
  MPI_Finalize();
  return 0;
}
