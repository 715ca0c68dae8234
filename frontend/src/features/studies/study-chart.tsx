/** The chart of studies, with the bars that some of them draw. */
import { BarChart } from "echarts/charts";
import { use as register } from "echarts/core";

register([BarChart]);

export { default } from "@/components/ui/read-chart";
