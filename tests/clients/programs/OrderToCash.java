import io.camunda.zeebe.client.ZeebeClient;
import io.camunda.zeebe.client.api.command.ClientStatusException;
import io.camunda.zeebe.client.api.command.ProblemException;
import io.camunda.zeebe.client.api.response.ActivatedJob;
import io.camunda.zeebe.client.api.response.Process;
import io.camunda.zeebe.client.api.worker.JobClient;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The order-to-cash story with Zeebe's Java client: over gRPC, with a streaming worker. There is no correlation in
 * gRPC, and this client does it over REST.
 */
public class OrderToCash {
  private static final String CLIENT = System.getenv("CLIENT");
  private static final String MONEY = "money-collected-" + CLIENT;
  private static final Duration NONE = Duration.ZERO;
  private static final Duration HOUR = Duration.ofHours(1);

  private final ZeebeClient client;
  private final Set<String> shipped = ConcurrentHashMap.newKeySet();
  private final Map<String, Long> instances = new LinkedHashMap<>();

  private OrderToCash(ZeebeClient client) {
    this.client = client;
  }

  public static void main(String[] arguments) throws Exception {
    try (ZeebeClient client =
        ZeebeClient.newClientBuilder()
            .applyEnvironmentVariableOverrides(false)
            .grpcAddress(URI.create("http://" + System.getenv("GRPC_ADDRESS")))
            .restAddress(URI.create(System.getenv("REST_ADDRESS")))
            .preferRestOverGrpc(false)
            .usePlaintext()
            .build()) {
      new OrderToCash(client).tell();
    }
  }

  private void tell() throws Exception {
    check(client.newTopologyRequest().send().join().getPartitionsCount() > 1, "partitions");
    var deployment = client.newDeployResourceCommand().addResourceFile(System.getenv("MODEL")).send().join();
    Process process = deployment.getProcesses().get(0);
    same("order-to-cash-" + CLIENT + " 1", process.getBpmnProcessId() + " " + process.getVersion());
    var steps = client.newWorker().jobType("ship-parcel-" + CLIENT).handler(this::ship).name("shipping");
    try (var worker = steps.timeout(Duration.ofMinutes(1)).streamEnabled(true).open()) {
      paidLateAndEarly();
      oneIdIsOneMessage();
      whatExpiresIsGone();
      oneOrderAtATime();
      incidentIsResolved();
    }
    System.out.println(
        instances.entrySet().stream()
            .map(it -> String.format("\"%s\": %d", it.getKey(), it.getValue()))
            .collect(Collectors.joining(", ", "{", "}")));
  }

  private void paidLateAndEarly() throws Exception {
    create("late");
    invoice("late");
    pay("late", NONE, "");
    awaitShipped("late");
    pay("early", HOUR, "");
    create("early");
    invoice("early");
    awaitShipped("early");
  }

  private void oneIdIsOneMessage() {
    pay("twice", HOUR, "t-1");
    refused("ALREADY_EXISTS", () -> pay("twice", HOUR, "t-1"));
  }

  private void whatExpiresIsGone() throws Exception {
    pay("expired", Duration.ofMillis(100), "e-1");
    while (!"".equals(codeOf(() -> pay("expired", NONE, "e-1")))) {
      Thread.sleep(100);
    }
    create("expired");
    refused("NOT_FOUND", () -> correlate("expired"));
    invoice("expired");
    check(!shipped.contains("expired"), "expired money was taken");
    same(instances.get("expired"), correlate("expired"));
    awaitShipped("expired");
  }

  private void oneOrderAtATime() {
    for (int number = 0; number < 2; number++) {
      var order = client.newPublishMessageCommand().messageName("order-placed-" + CLIENT).correlationKey("locked");
      order.timeToLive(HOUR).variables(Map.of("orderId", "locked")).send().join();
    }
    long first = job("locked").getProcessInstanceKey();
    same(List.of(), jobs(Duration.ofMillis(-1)));
    cancel(first);
    long second = job("locked").getProcessInstanceKey();
    cancel(second);
    refused("NOT_FOUND", () -> cancel(second));
    instances.putAll(Map.of("first", first, "second", second));
  }

  private void incidentIsResolved() throws Exception {
    create("stuck");
    ActivatedJob job = job("stuck");
    client.newFailCommand(job).retries(0).errorMessage("no paper").send().join();
    same(List.of(), jobs(Duration.ofMillis(-1)));
    client.newUpdateRetriesCommand(job).retries(1).send().join();
    client.newResolveIncidentCommand(incidentOf(instances.get("stuck"))).send().join();
    invoice("stuck");
    pay("stuck", NONE, "");
    awaitShipped("stuck");
  }

  /** This client has no searches: its own methods for them say so when they are called. */
  private static long incidentOf(long instance) throws Exception {
    URI address = URI.create(System.getenv("REST_ADDRESS") + "/v2/incidents/search");
    String body = String.format("{\"filter\": {\"processInstanceKey\": \"%d\"}}", instance);
    var request = HttpRequest.newBuilder(address).header("Content-Type", "application/json");
    request.POST(HttpRequest.BodyPublishers.ofString(body));
    String found = HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString()).body();
    check(found.contains("no paper"), found);
    Matcher key = Pattern.compile("\"incidentKey\":\"(\\d+)\"").matcher(found);
    check(key.find(), found);
    return Long.parseLong(key.group(1));
  }

  private void ship(JobClient jobs, ActivatedJob job) {
    String order = (String) job.getVariable("orderId");
    jobs.newCompleteCommand(job).variables(Map.of("parcel", order)).send().join();
    shipped.add(order);
  }

  private void awaitShipped(String order) throws Exception {
    for (int round = 0; round < 200 && !shipped.contains(order); round++) {
      Thread.sleep(100);
    }
    check(shipped.contains(order), order + " is not shipped");
  }

  private void create(String order) {
    var command = client.newCreateInstanceCommand().bpmnProcessId("order-to-cash-" + CLIENT).latestVersion();
    instances.put(order, command.variables(Map.of("orderId", order)).send().join().getProcessInstanceKey());
  }

  private void pay(String order, Duration timeToLive, String id) {
    var money = client.newPublishMessageCommand().messageName(MONEY).correlationKey(order);
    money.timeToLive(timeToLive).messageId(id).variables(Map.of("amount", 40)).send().join();
  }

  private Long correlate(String order) {
    var money = client.newCorrelateMessageCommand().messageName(MONEY).correlationKey(order);
    return money.variables(Map.of("amount", 40)).send().join().getProcessInstanceKey();
  }

  private List<ActivatedJob> jobs(Duration wait) {
    var wanted = client.newActivateJobsCommand().jobType("send-invoice-" + CLIENT).maxJobsToActivate(10);
    return wanted.workerName("office").timeout(Duration.ofMinutes(1)).requestTimeout(wait).send().join().getJobs();
  }

  private ActivatedJob job(String order) {
    List<ActivatedJob> jobs = jobs(Duration.ofSeconds(10));
    same(List.of(order), jobs.stream().map(it -> it.getVariable("orderId")).collect(Collectors.toList()));
    return jobs.get(0);
  }

  private void invoice(String order) {
    ActivatedJob job = job(order);
    same(Map.of("layout", "A4"), job.getCustomHeaders());
    same(1, job.getRetries());
    client.newCompleteCommand(job).variables(Map.of("invoice", "invoice of " + order)).send().join();
  }

  private void cancel(long instance) {
    client.newCancelInstanceCommand(instance).send().join();
  }

  /** The code of a refusal; empty if there was none. */
  private static String codeOf(Runnable call) {
    try {
      call.run();
      return "";
    } catch (ClientStatusException refusal) {
      return refusal.getStatusCode().name();
    } catch (ProblemException refusal) {
      return Map.of(404, "NOT_FOUND", 409, "ALREADY_EXISTS").getOrDefault(refusal.code(), refusal.getMessage());
    }
  }

  private static void refused(String code, Runnable call) {
    same(code, codeOf(call));
  }

  private static void same(Object expected, Object found) {
    check(expected.equals(found), found + " is not " + expected);
  }

  private static void check(boolean holds, String otherwise) {
    if (!holds) {
      throw new AssertionError(otherwise);
    }
  }
}
