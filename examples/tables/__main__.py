import conjoin

spark = conjoin.spark_session()
messages = spark.read.csv("examples/tables/messages.csv", header=True)
waiting = spark.read.csv("examples/tables/waiting.csv", header=True)
with conjoin.correlate(messages, waiting) as result:
    for row in result.verdicts.orderBy("correlation_key").collect():
        print(conjoin.sentence(row))
